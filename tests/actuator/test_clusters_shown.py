"""What worker clusters do with a workload, as Kueue tells it by Events on the Workload."""

from __future__ import annotations

import pytest

from actuator.projection.k8s_events import told
from tidegate.contracts.decision_kinds.clusters import CheckCause, CheckDecided, CheckDecision


@pytest.mark.parametrize(
    ("state", "cause", "kind"),
    [
        ("Ready", "Admitted", "Normal"),
        ("Retry", "Evicted", "Normal"),
        ("Retry", "OutOfSync", "Warning"),
    ],
)
def test_what_a_worker_did_is_told_on_the_workload(
    state: CheckDecision, cause: CheckCause, kind: str
) -> None:
    event = CheckDecided(
        at_us=1, workload="n/w", check="far", state=state, message="m", cause=cause
    )
    [found] = told(event)
    assert (found.kind, found.reason, found.message) == (kind, "MultiKueue", "m")
    assert not found.about_job


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_a_worker_that_was_lost_and_a_job_that_was_rejected_have_no_event_of_their_own(
    state: CheckDecision,
) -> None:
    assert told(CheckDecided(at_us=1, workload="n/w", check="far", state=state, message="m")) == ()
