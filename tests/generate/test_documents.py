"""What is checked in is what the generator writes today."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tidegate.generate.__main__ import main, print_policies
from tidegate.generate.documents import documents, generated_folders

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Return the text of every generated file by its path."""
    return documents()


def test_the_generated_files_are_up_to_date(texts: dict[str, str]) -> None:
    stale = [name for name, text in texts.items() if (ROOT / name).read_text() != text]
    assert not stale, "run: make generate"


@pytest.mark.parametrize("folder", generated_folders())
def test_a_generated_folder_holds_nothing_else(folder: str, texts: dict[str, str]) -> None:
    names = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.*")}
    assert names == {name for name in texts if name.startswith(folder + "/")}


def test_the_generator_writes_what_differs_and_removes_what_is_no_longer_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: dict[str, str]
) -> None:
    stale = tmp_path / "deploy/crds/old.yaml"
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    assert main(tmp_path) == 0
    assert not stale.exists()
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.*")} == set(texts)
    capsys.readouterr()
    assert main(tmp_path) == 0
    assert capsys.readouterr().out == ""


def test_policies_of_other_job_kinds_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_policies(("pod", "ray.io/rayjob")) == 0
    names = {obj["metadata"]["name"] for obj in yaml.safe_load_all(capsys.readouterr().out)}
    assert {"tidegate-gate-pods", "tidegate-suspend-ray-io-rayjob"} < names
    assert "tidegate-suspend-batch-job" not in names


def test_an_unknown_job_kind_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_policies(("ray.io/rayjob", "example.com/job")) == 2
    assert capsys.readouterr().err.startswith("no job kind example.com/job; there are pod, batch")
