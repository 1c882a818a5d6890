"""``tidegate cluster``: what is said first and last, and that what came up goes down again."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.parts.kubernetes import binaries
from tidegate.cli.program import build_app
from tidegate.cluster import container
from tidegate.cluster.go.building import is_built
from tidegate.cluster.local import choose_form, current_cluster, is_up


def run(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["cluster", *arguments, "--state", str(tmp_path)])


@pytest.mark.parametrize(
    "form", ["embedded", pytest.param("go", marks=[pytest.mark.real, pytest.mark.slow])]
)
def test_a_cluster_comes_up_answers_and_goes_down(tmp_path: Path, form: str) -> None:
    if form == "go":
        binaries()
    first = run(tmp_path, "up", "--on", form)
    assert first.exit_code == 0, first.output
    lines = first.output.splitlines()
    assert lines[0].startswith(f"cluster: {form} (")
    assert lines[-1] == f"{lines[0]} is up"
    assert run(tmp_path, "up", "--on", "auto", "--no-install").output.startswith(lines[0])
    assert run(tmp_path, "status").exit_code == 0
    cluster = current_cluster(tmp_path / "cluster")
    assert cluster is not None
    down = run(tmp_path, "down").output.splitlines()
    assert (down[0], down[-1].startswith(lines[0])) == (lines[0], True)
    assert not is_up(cluster, tmp_path / "cluster")
    assert run(tmp_path, "status").exit_code == 1


def test_a_second_form_is_refused_while_one_is_up(tmp_path: Path) -> None:
    run(tmp_path, "up", "--on", "embedded", "--no-install")
    try:
        refused = run(tmp_path, "up", "--on", "kubeconfig", "--no-install")
        assert refused.exit_code == 1
        assert "bring it down first" in refused.output
    finally:
        run(tmp_path, "down")


def test_the_embedded_cluster_says_what_it_lacks(tmp_path: Path) -> None:
    run(tmp_path, "up", "--on", "embedded", "--no-install")
    try:
        lines = run(tmp_path, "status").output.splitlines()
        assert any(line.startswith("limit: CEL rules") for line in lines)
    finally:
        run(tmp_path, "down")


def test_an_existing_cluster_is_used_by_name_only_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("apiVersion: v1\nkind: Config\n")
    monkeypatch.setenv("KUBECONFIG", str(config))
    assert choose_form("auto", tmp_path) != "kubeconfig"
    assert run(tmp_path, "up", "--on", "kubeconfig", "--no-install").exit_code == 0
    cluster = current_cluster(tmp_path / "cluster")
    assert cluster is not None
    assert cluster.kubeconfig == str(config)
    assert "stays as it is" in run(tmp_path, "down").output
    assert config.exists()


def test_without_a_kubeconfig_there_is_no_existing_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    refused = run(tmp_path, "up", "--on", "kubeconfig")
    assert refused.exit_code == 2
    assert "set KUBECONFIG" in refused.output


def test_a_form_that_does_not_exist_is_used_wrongly(tmp_path: Path) -> None:
    refused = run(tmp_path, "up", "--on", "moon")
    assert refused.exit_code == 2
    assert "auto, kubeconfig, container, go, embedded" in refused.output


def test_auto_is_the_best_that_is_there_without_a_long_wait(tmp_path: Path) -> None:
    expected = "container" if container.find_engine() else "go" if is_built() else "embedded"
    assert choose_form("auto", tmp_path) == expected


def test_a_container_command_without_an_engine_is_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\necho Cannot connect >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert container.find_engine() == ""
    refused = run(tmp_path, "up", "--on", "container")
    assert refused.exit_code == 1
    assert "No container engine answers" in refused.output


def test_a_machine_without_go_gets_an_error_that_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("tidegate.cluster.go.building.GO_PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")
    refused = run(tmp_path, "up", "--on", "go")
    assert refused.exit_code == 1
    assert "install Go 1.26 or newer" in refused.output
