"""docs/faults.md and the tests of faults name each other."""

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
        assert [one for one in files if not functions_in([one])] == [], number
        if int(number.rstrip("ab")) <= ON_A_SERVER:
            assert any("mark.real" in one.read_text() for one in files), number


def functions_in(files: Iterable[Path]) -> list[str]:
    text = "\n".join(file.read_text() for file in files)
    return re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
