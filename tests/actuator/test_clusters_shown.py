"""What worker clusters do with a workload, as Kueue tells it by Events on the Workload."""

from __future__ import annotations

from typing import Any

import pytest

from actuator.projection.checks import follow_clusters, reset_checks, set_cluster_fields
from actuator.projection.k8s_events import event_texts
from actuator.projection.workload_view import WorkloadView
from tests.actuator.scene import ref
from tests.actuator.story import QUEUES, Story
from tests.parts.interposed import Interposed
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decision_kinds.clusters import (
    CheckCause,
    CheckDecided,
    CheckDecision,
    ClusterChosen,
    ClustersNominated,
)
from tidegate.contracts.decisions import WorkloadEvicted
from tidegate.kube.ports import Response
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
def test_what_a_worker_did_is_reported_on_the_workload(
    state: CheckDecision, cause: CheckCause, kind: str
) -> None:
    event = CheckDecided(
        at_us=1, workload="n/w", check="far", state=state, message="m", cause=cause
    )
    [event_text] = event_texts(event)
    assert (event_text.kind, event_text.reason, event_text.message) == (kind, "MultiKueue", "m")
    assert not event_text.about_job


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
    follow_clusters(view, ClustersNominated(**ABOUT, job=JOB, clusters=("w1",), external=True))
    status: dict[str, object] = {"nominatedClusterNames": ["w1", "w2"]}
    set_cluster_fields(status, view)
    assert status == {"nominatedClusterNames": ["w1", "w2"]}, "what it wrote since stays"
    if ends == "chosen":
        follow_clusters(view, ClusterChosen(**ABOUT, job=JOB, cluster="w2"))
    else:
        reset_checks(view, WorkloadEvicted(**ABOUT, reason="Preempted"))
    set_cluster_fields(status, view)
    assert status == ({"clusterName": "w2"} if ends == "chosen" else {})


async def shown_before_writes(story: Story) -> list[str]:
    """Let a workload go from one cluster to another at once; return what it showed meanwhile."""
    api, before = Interposed(story.api), list[str]()

    def shown() -> str:
        name: str = (story.shows() or {}).get("status", {}).get("clusterName", "")
        return name

    async def look(method: str, path: str) -> Response | None:
        if (method, path) == ("PATCH", f"{story.path}/status"):
            before.append(shown())
        return None

    def chosen(cluster: str) -> ClusterChosen:
        about: dict[str, Any] = {**ABOUT, "workload": story.key, "uid": story.uid}
        return ClusterChosen(**about, job=ref(story.made), cluster=cluster)

    async with alongside(story.actuator(api=api, projects=True).run()):
        await story.write(*QUEUES, story.submitted(), story.reserved(), chosen("w1"))
        await eventually(lambda: shown() == "w1")
        api.before = look
        await story.write(chosen("w2"))
        await eventually(lambda: shown() == "w2")
    return before


def test_a_clusters_name_is_cleared_before_another_one_is_shown() -> None:
    """The API server refuses a change of it, and shows the old one for ever."""

    async def run() -> None:
        assert await shown_before_writes(Story()) == ["w1", ""]

    run_virtually(run())
