"""What worker clusters do with a workload, as Kueue tells it by Events on the Workload."""

from __future__ import annotations

from typing import Any

import pytest

from actuator.projection.clusters import begin_anew, follow, put
from actuator.projection.k8s_events import event_texts
from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.decision_kinds.clusters import (
    CheckCause,
    CheckDecided,
    CheckDecision,
    ClusterChosen,
    ClustersNominated,
)
from tidegate.contracts.decisions import WorkloadEvicted
from tidegate.model.ids import ObjectRef

JOB = ObjectRef(kind="batch/job", namespace="n", name="j", uid="u")
ABOUT: dict[str, Any] = {"at_us": 1, "workload": "n/w", "uid": "u", "cluster_queue": "q"}


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
    [found] = event_texts(event)
    assert (found.kind, found.reason, found.message) == (kind, "MultiKueue", "m")
    assert not found.about_job


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_a_worker_that_was_lost_and_a_job_that_was_rejected_have_no_event_of_their_own(
    state: CheckDecision,
) -> None:
    assert (
        event_texts(CheckDecided(at_us=1, workload="n/w", check="far", state=state, message="m"))
        == ()
    )


@pytest.mark.parametrize("ends", ["chosen", "evicted"])
def test_nominations_of_an_external_dispatcher_are_cleared_with_the_choice_and_with_an_eviction(
    ends: str,
) -> None:
    view = WorkloadView(key="n/w", uid="u", job=JOB)
    follow(view, ClustersNominated(**ABOUT, job=JOB, clusters=("w1",), external=True))
    status: dict[str, object] = {"nominatedClusterNames": ["w1", "w2"]}
    put(status, view)
    assert status == {"nominatedClusterNames": ["w1", "w2"]}, "what it wrote since stays"
    if ends == "chosen":
        follow(view, ClusterChosen(**ABOUT, job=JOB, cluster="w2"))
    else:
        begin_anew(view, WorkloadEvicted(**ABOUT, reason="Preempted"))
    put(status, view)
    assert status == ({"clusterName": "w2"} if ends == "chosen" else {})
