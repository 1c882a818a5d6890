"""docs/faults.md and the tests of faults name each other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULTS = ("kills", "bus_faults", "service_faults", "object_faults", "malformed")
COLD = ("cold_starts", "left_by_kueue")


def test_every_fault_and_cold_start_stands_in_the_table_with_its_test() -> None:
    told = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "faults.md").read_text())
    found = [
        name
        for part in FAULTS + COLD
        for name in re.findall(
            r"^async def (test_\w+)",
            (Path(__file__).parent / f"test_{part}.py").read_text(),
            re.MULTILINE,
        )
    ]
    assert sorted(told) == sorted(found)
