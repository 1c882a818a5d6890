"""Each command on the sample ledger: what it prints and how it exits, kept as text.

A case in ``cases/*.txt`` is a command line, ``----``, and what it prints; lines on standard error
begin with ``! ``, and an exit code other than 0 is the last line. A hash is shown as HASH, since it
changes with every word of the history. ``make rewrite`` writes the answers anew, for the diff to be
read.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.conftest import Tidegate

CASES = Path(__file__).parent / "cases"
END = "\n====\n"


def cases() -> Iterator[object]:
    for path in sorted(CASES.glob("*.txt")):
        for place, case in enumerate(path.read_text().removesuffix(END).split(END)):
            yield pytest.param(path, place, id=case.partition("\n")[0])


def printed(result: Result, sample: Path) -> str:
    out = result.stdout
    out += "".join(f"! {line}\n" for line in result.stderr.splitlines())
    out += f"exit {result.exit_code}\n" if result.exit_code else ""
    out = re.sub(r"\b(?!0{64})[0-9a-f]{64}\b", "HASH", out)
    return out.replace(str(sample), "SAMPLE").rstrip("\n")


@pytest.mark.parametrize(("path", "place"), list(cases()))
def test_cli(tidegate: Tidegate, sample: Path, path: Path, place: int) -> None:
    kept = path.read_text().removesuffix(END).split(END)
    command = kept[place].partition("\n----")[0]
    name, *arguments = shlex.split(command)
    assert name == "tidegate"
    answer = f"{command}\n----\n{printed(tidegate(*arguments), sample)}"
    if os.environ.get("REWRITE"):
        kept[place] = answer
        path.write_text("".join(case + END for case in kept))
    assert kept[place] == answer
