"""Kueue's cases of MultiKueue, and what can go wrong: which tests play each here, or why none does.

``register.yaml`` names them by the numbers of multikueue.md 5 and 6.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

TESTS = Path(__file__).parent.parent
CASES = TESTS / "core/multikueue/cases"


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """One case: what happens, what plays it, and what of it is not played."""

    what: str
    tests: list[str] = []
    part: str = ""  # what of it the tests do not play
    none: str = ""  # why nothing plays it


class Register(msgspec.Struct, forbid_unknown_fields=True):
    """All of them, by number."""

    cases: dict[int, Row]
    races: dict[int, Row]
    ours: dict[int, Row]  # what Kueue has not


REGISTER = msgspec.yaml.decode((Path(__file__).parent / "register.yaml").read_text(), type=Register)
NUMBERED = {f"case {number}": row for number, row in REGISTER.cases.items()}
NUMBERED |= {f"ours {number}": row for number, row in REGISTER.ours.items()}
NUMBERED |= {f"race {number}": row for number, row in REGISTER.races.items()}


def test_every_case_is_there() -> None:
    assert list(REGISTER.cases) == list(range(1, 67))
    assert list(REGISTER.races) == list(range(1, 24))


@pytest.mark.parametrize("row", NUMBERED.values(), ids=NUMBERED.keys())
def test_what_plays_a_case_is_there(row: Row) -> None:
    assert bool(row.tests) != bool(row.none), "it is played, or it is said why not"
    missing = [test for test in row.tests if not is_there(test)]
    assert missing == []


def is_there(named: str) -> bool:
    """Tell whether a case of the core, a module of tests or a test is there."""
    kind, _, case = named.partition(":")
    if kind == "core":
        return (CASES / f"{case}.yaml").is_file()
    path, _, name = named.partition("::")
    tests = TESTS / path
    return tests.is_file() and (not name or f"def {name}(" in tests.read_text())


def test_every_case_of_the_core_is_named() -> None:
    named = {test.removeprefix("core:") for row in NUMBERED.values() for test in row.tests}
    assert sorted(path.stem for path in CASES.glob("*.yaml") if path.stem not in named) == []
