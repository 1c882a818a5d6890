"""The log says of each decision where it stands in the ledger and whom it is about."""

from __future__ import annotations

import structlog

from scheduler.health import log_decisions
from tests.scheduler.metrics_story import about, queues, reserved
from tidegate.contracts import decisions
from tidegate.core.chain import GENESIS, seal


def test_a_decision_is_logged_with_seq_turn_and_workload() -> None:
    events = [
        *queues()[:2],
        reserved("left/one", 1),
        about(decisions.WorkloadAdmitted, "left/one", 1),
    ]
    with structlog.testing.capture_logs() as lines:
        log_decisions(seal(GENESIS, 1, "local", events), events)
    place = {"workload": "left/one", "cluster_queue": "left", "turn": 1, "log_level": "debug"}
    assert lines == [
        {"event": "QuotaReserved", "seq": 3, "part": "decisions", **place},
        {"event": "WorkloadAdmitted", "seq": 4, "part": "decisions", **place},
    ]
