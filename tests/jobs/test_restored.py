"""What a start put into a job, a stop takes out: byte for byte, for every kind."""

from __future__ import annotations

import msgspec
import pytest

from tests.jobs.cases import CASES, case, kind_of, start_of, stop_of
from tests.jobs.walking import carried_out, merged

STARTS = [name for name in CASES if "/start_p" in name and not name.startswith("pod/")]
"""Cases of jobs that are placed, started plainly or in part; a stopped pod is not restored."""
RUNS = {
    "status": {
        "startTime": "2026-03-01T08:01:00Z",
        "active": 2,
        "replicatedJobsStatus": [{"name": "worker", "active": 1}],
        "aboard": 2,
    }
}


@pytest.mark.parametrize("name", STARTS)
def test_a_stop_restores_what_a_start_changed_byte_for_byte(name: str) -> None:
    fields = case(name)
    kind = kind_of(name)
    began = carried_out(kind, fields["job"], start_of(fields))
    running = merged(began, RUNS)
    ended = carried_out(kind, running, stop_of(9))
    assert msgspec.json.encode(ended["spec"]) == msgspec.json.encode(fields["job"]["spec"])
    written = ended["metadata"]["annotations"]
    assert written == {
        **fields["job"]["metadata"].get("annotations", {}),
        "tidegate.dev/decision": "L1/9",
    }
