"""The log says of each decision where it stands in the ledger and which workload it is about."""

from __future__ import annotations

import pytest
import structlog

from scheduler import health
from scheduler.health import log_decisions
from tests.scheduler.metrics_story import about, queues, reserved
from tidegate.contracts import decisions
from tidegate.contracts.chain import GENESIS, seal


def test_a_decision_is_logged_with_seq_turn_and_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = structlog.make_filtering_bound_logger("debug")
    # A logger keeps what was configured when it was first used, perhaps by another test.
    log = structlog.wrap_logger(structlog.PrintLogger(), wrapper_class=wrapper, part="decisions")
    monkeypatch.setattr(health, "_log", log)
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
