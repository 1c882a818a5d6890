"""The project speaks of itself alone: no path of one machine, no unfinished business."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|root|farm)/[a-z.]"),
    "a folder beside the project": re.compile(r"\.\./" + "shared"),
    "unfinished business": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b"),
}
SKIPPED = {"uv.lock", "go.sum", "LICENSE"}


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip(
            "This is no git checkout, so nothing says which files belong to the project: run the "
            "tests in a clone of the repository."
        )
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - git is wherever PATH has it
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    names = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path.is_file() and path.name not in SKIPPED and path.suffix not in {".png", ".gz"}
        for match in FORBIDDEN[what].finditer(path.read_text(errors="replace"))
    ]
    assert names == []
