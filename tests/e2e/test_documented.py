"""docs/faults.md and the tests of faults name each other."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
FAULTS = ("kills", "bus_faults", "service_faults", "object_faults", "malformed")
COLD = ("cold_starts", "left_by_kueue")


def test_every_fault_and_cold_start_stands_in_the_table_with_its_test() -> None:
    page = (HERE.parents[1] / "docs" / "faults.md").read_text()
    files = [(HERE / f"test_{part}.py").read_text() for part in FAULTS + COLD]
    tests = re.findall(r"^async def (test_\w+)", "\n".join(files), re.MULTILINE)
    assert sorted(re.findall(r"`(test_\w+)`", page)) == sorted(tests)
