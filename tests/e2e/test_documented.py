"""docs/faults.md, docs/security.md and the tests of faults and attempts name each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FAULTS = ("kills", "bus_faults", "service_faults", "object_faults", "malformed")
COLD = ("cold_starts", "left_by_kueue")


PROMISED = re.compile(r"^\| (\d+[ab]?) \| .* \| ([^|]+) \|$", re.MULTILINE)
ON_A_SERVER = 8  # the first of what is promised are shown on an API server


def test_every_fault_and_cold_start_stands_in_the_table_with_its_test() -> None:
    page = (ROOT / "docs" / "faults.md").read_text()
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) == len(set(named))
    assert set(functions_in(HERE / f"test_{part}.py" for part in FAULTS + COLD)) <= set(named)
    assert set(named) <= set(functions_in(HERE.parent.rglob("test_*.py")))


def test_everything_promised_names_tests_that_are_there() -> None:
    rows = dict(PROMISED.findall((ROOT / "docs" / "faults.md").read_text()))
    assert list(rows) == sorted(rows, key=lambda number: (int(number.rstrip("ab")), number))
    assert {str(number) for number in range(1, 16)} <= rows.keys()
    for number, cell in rows.items():
        files = [ROOT / name for name in re.findall(r"`([^`]+)`", cell)]
        assert files, number
        assert [file for file in files if not functions_in([file])] == [], number
        if int(number.rstrip("ab")) <= ON_A_SERVER:
            assert any("mark.real" in file.read_text() for file in files), number


def test_every_attempt_and_identity_names_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "security.md").read_text()
    rows = [
        (int(match[1]), match[2])
        for match in re.finditer(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    ]
    assert {number for number, _ in rows} == set(range(1, 14))
    for number, row in rows:
        files = [ROOT / name for name in re.findall(r"`(tests/[\w/]+\.py)`", row)]
        assert [file for file in files if not functions_in([file])] == [], number
        assert files, number
        there = functions_in(files)
        for begun in re.findall(r"`(test_\w+)(?:…)?`", row):
            assert any(name.startswith(begun) for name in there), begun


def test_the_rules_of_a_life_name_stories_and_tests_that_are_there() -> None:
    page = (ROOT / "docs" / "lifecycle.md").read_text()
    table = [row.split(" | ") for row in page.splitlines() if row.startswith("| ") and "`" in row]
    stories = [name for row in table for name in re.findall(r"`([\w-]+)`", row[2])]
    tests = [name for row in table for name in re.findall(r"`(test_\w+)`", row[3])]
    lives = ROOT / "tests" / "lifecycle" / "data"
    assert {name for name in stories if name[0] != "-"} <= {path.stem for path in lives.iterdir()}
    assert {f"{name}.py" for name in tests} <= {path.name for path in HERE.iterdir()}
    assert len(stories) > len(tests) > 0


def functions_in(files: Iterable[Path]) -> list[str]:
    text = "\n".join(file.read_text() for file in files)
    return re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
