"""The harness itself: its table, and a short run of it on the real parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.chaos.table import Found, Struck, table
from tests.parts.kubernetes import binaries

FOUND = Found(
    minutes=2,
    seed=7,
    submitted=9,
    completed=8,
    struck=(Struck("NATS killed", 3.0), Struck("NATS killed", 1.0), Struck("ingest killed", 2.04)),
    lost=("a/job-1",),
    violations=("a/job-2 runs unadmitted",),
)
TABLE = """\
fault                             times  median s  worst s
NATS killed                           2       2.0      3.0
ingest killed                         1       2.0      2.0
all                                   3       2.0      3.0

2 minutes, seed 7: 9 jobs submitted, 8 completed, 1 lost; 3 faults; 1 promises broken; \
audit: nothing to object to
lost: a/job-1
broken: a/job-2 runs unadmitted"""


def test_the_table_has_a_row_a_kind_and_names_what_was_lost() -> None:
    assert table(FOUND) == TABLE
    assert not FOUND.holds


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(900)
def test_a_short_run_loses_nothing(tmp_path: Path) -> None:
    binaries()
    written = tmp_path / "found.json"
    command = [sys.executable, "-m", "tests.chaos", "--minutes", "1", "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    match = msgspec.json.decode(written.read_bytes(), type=Found)
    assert match.struck
    assert match.submitted == match.completed > len(match.struck)
