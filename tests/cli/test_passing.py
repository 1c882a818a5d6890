"""Commands that kubectl does are handed to it with every argument, and missed where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate

KUBECTL = """#!/bin/sh
echo "$@" > "$TOLD"
echo "$KUBECONFIG" >> "$TOLD"
exit 7
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a kubectl on PATH that writes down what it is told, and exits with 7."""
    binary = tmp_path / "bin" / "kubectl"
    binary.parent.mkdir()
    binary.write_text(KUBECTL)
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binary.parent}:/bin:/usr/bin")
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    return tmp_path / "told"


@pytest.mark.parametrize("verb", ["get", "describe", "edit", "patch"])
def test_kubectl_gets_all_arguments_and_its_exit_code_counts(
    tidegate: Tidegate, told: Path, verb: str
) -> None:
    result = tidegate(verb, "lq", "main", "-n", "a", "--output=yaml", "--help")
    assert result.exit_code == 7, result.output
    first = told.read_text().splitlines()[0]
    assert first == f"{verb} localqueues.kueue.x-k8s.io main -n a --output=yaml --help"


def test_kubectl_gets_the_kubeconfig_that_other_commands_use(
    tidegate: Tidegate, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    state = tmp_path / "state"
    state.mkdir()
    (state / "instance.json").write_text('{"ledger": "", "kubeconfig": "/there/kubeconfig"}')
    assert tidegate("get", "workload").exit_code == 7
    assert told.read_text().splitlines()[1] == "/there/kubeconfig"


def test_without_kubectl_it_says_what_is_missing(
    tidegate: Tidegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = tidegate("describe", "cq", "team-a")
    assert result.exit_code == 2
    assert "kubectl, which is not on PATH" in result.stderr


def test_a_kind_that_is_not_ours_is_not_handed_over(tidegate: Tidegate, told: Path) -> None:
    result = tidegate("get", "secrets")
    assert result.exit_code == 2
    assert not told.exists()
