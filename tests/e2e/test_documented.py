"""docs/faults.md and the tests of faults name each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
FAULTS = ("kills", "bus_faults", "service_faults", "object_faults", "malformed")
COLD = ("cold_starts", "left_by_kueue")


def test_every_fault_and_cold_start_stands_in_the_table_with_its_test() -> None:
    page = (HERE.parents[1] / "docs" / "faults.md").read_text()
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) == len(set(named))
    assert set(functions_in(HERE / f"test_{part}.py" for part in FAULTS + COLD)) <= set(named)
    assert set(named) <= set(functions_in(HERE.parent.rglob("test_*.py")))


def functions_in(files: Iterable[Path]) -> list[str]:
    text = "\n".join(file.read_text() for file in files)
    return re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
