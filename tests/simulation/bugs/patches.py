"""A bug is a unified diff beside this module; what stands before the diff says what is known of it.

An append does not require its own epoch.

Seed: 3
Rule: past

--- a/store/ledger.py
+++ b/store/ledger.py

A bug that no world shows, because another layer covers it, names in place of both lines the test
that fails with it: ``Test: tests/bus/test_events.py``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
CHANGED = ("actuator", "ingest", "scheduler", "store", "tidegate")
"""What a patch may change; everything else of the tree is used as it is."""


class Bug(NamedTuple):
    """One patch, and the seed and rule, or the test, that are known to find it."""

    name: str
    file: Path
    about: str
    seed: int | None = None
    rule: str = ""
    test: str = ""


def read_bug(file: Path) -> Bug:
    """Read a patch's head; without seed and test the bug has no finder yet."""
    head = file.read_text().partition("--- a/")[0]
    known = dict(re.findall(r"^(Seed|Rule|Test): (\S+)$", head, re.MULTILINE))
    about = re.sub(r"\s+", " ", re.split(r"^(?:Seed|Test): ", head, flags=re.MULTILINE)[0]).strip()
    seed = int(known["Seed"]) if "Seed" in known else None
    return Bug(file.stem, file, about, seed, known.get("Rule", ""), known.get("Test", ""))


def every_bug() -> list[Bug]:
    """Return each patch of the folder, by name."""
    return [read_bug(file) for file in sorted(FOLDER.glob("*.patch"))]


def note(bug: Bug, seed: int, rule: str) -> Bug:
    """Write down what found a bug."""
    _, mark, diff = bug.file.read_text().partition("--- a/")
    bug.file.write_text(f"{bug.about}\n\nSeed: {seed}\nRule: {rule}\n\n{mark}{diff}")
    return read_bug(bug.file)


@contextmanager
def tree_with(bug: Bug) -> Generator[Path]:
    """Yield a copy of the tree with a bug in it.

    Raises:
        subprocess.CalledProcessError: the patch does not fit the code any more.
    """
    with TemporaryDirectory() as name:
        copy = Path(name)
        for path in ROOT.iterdir():
            if path.name in CHANGED:
                shutil.copytree(path, copy / path.name, symlinks=True)
            elif not path.name.startswith("."):
                (copy / path.name).symlink_to(path)
        put_in(bug, copy)
        yield copy


def put_in(bug: Bug, tree: Path, *more: str) -> None:
    """Change a tree by a bug's patch; with ``--check`` only see whether it could be.

    Raises:
        subprocess.CalledProcessError: the patch does not fit the code any more.
    """
    command = ["git", "apply", "-C1", "--recount", *more, str(bug.file.resolve())]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True)
