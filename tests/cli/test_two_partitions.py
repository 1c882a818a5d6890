"""Each command on a ledger of two partitions: one history, or a sentence that says whose it is.

``partition_cases.txt`` is written as ``cases/*.txt`` are; see ``test_cli_cases.py``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.test_cli_cases import END, printed
from tests.cli.two_partitions import write

CASES = Path(__file__).parent / "partition_cases.txt"


def cases() -> Iterator[object]:
    for place, case in enumerate(CASES.read_text().removesuffix(END).split(END)):
        yield pytest.param(place, id=case.partition("\n")[0])


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two partitions."""
    file = tmp_path_factory.mktemp("two") / "two.db"
    write(file)
    return file


@pytest.mark.parametrize("place", list(cases()))
def test_a_command_reads_both(
    tidegate: Tidegate, two: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setenv("TIDEGATE_LEDGER", str(two))
    monkeypatch.chdir(Path(__file__).parents[2])
    kept = CASES.read_text().removesuffix(END).split(END)
    command = kept[place].partition("\n----")[0]
    _, *arguments = shlex.split(command)
    answer = f"{command}\n----\n{printed(tidegate(*arguments), two)}"
    if os.environ.get("REWRITE"):
        kept[place] = answer
        CASES.write_text("".join(case + END for case in kept))
    assert kept[place] == answer
