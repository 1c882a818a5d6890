"""Kueue's visibility API lists what Kueue's queue has, in its order; positions count the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.scheduler.metrics_story import Told, about, at, queues, submitted
from tidegate.contracts import decisions, facts
from tidegate.contracts.decision_kinds.queues import SampledUsage
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.policy import AdmissionFairSharing, Policy
from tidegate.model.quota import LocalQueueSpec
from tidegate.replay.queue_order import queue_orders
from tidegate.serve.ledger.queueing import pending_rows

FIRST, SECOND, OTHER = "left/one", "left/two", "left/other"
Changed = Callable[[], list[Told]]


def gated() -> list[Told]:
    """Return that a gate closes on the first workload."""
    job, gates = submitted(FIRST, 0), ("example.com/gate",)
    changed = {"queue": job.queue, "podsets": job.podsets, "gates": gates}
    return [about(facts.WorkloadChanged, FIRST, 9, **changed)]


def stopped() -> list[Told]:
    """Return that the LocalQueue of the first two workloads is stopped."""
    return [_local_queue("main", stop_policy="Hold")]


def shared() -> list[Told]:
    """Return that admission is by usage, and the LocalQueue of the first two has used some."""
    policy = Policy(admission_fair_sharing=AdmissionFairSharing(half_life_us=1))
    queue = next(event for event in queues() if isinstance(event, facts.ClusterQueueDefined))
    usage = (SampledUsage(namespace="left", name="main", consumed={"cpu": "3"}),)
    return [
        facts.PolicyConfigured(at_us=at(9), name="tidegate", policy=policy),
        replace(queue, at_us=at(9), spec=replace(queue.spec, usage_based_admission=True)),
        decisions.LocalQueueUsageSampled(at_us=at(9), cluster_queue="left", usage=usage),
    ]


def preempting() -> list[Told]:
    """Return that the second workload waits for its victims, by Kueue's rules."""
    return [
        facts.PolicyConfigured(at_us=at(9), name="tidegate", policy=Policy(compatibility="kueue")),
        about(decisions.PreemptionIntended, SECOND, 9, victims=()),
    ]


@pytest.mark.parametrize(
    ("changed", "listed"),
    [
        (list, [FIRST, SECOND, OTHER]),
        (gated, [SECOND, OTHER]),
        (stopped, [OTHER]),
        (shared, [OTHER, FIRST, SECOND]),
        (preempting, [SECOND, FIRST, OTHER]),
    ],
)
def test_workloads_are_listed_as_kueue_lists_them(changed: Changed, listed: list[str]) -> None:
    """Source: Kueue's Snapshot of a ClusterQueue, and what its manager does not queue."""
    state = State()
    other = replace(submitted(OTHER, 3), queue="other")
    story = (*queues(), _local_queue("other"), submitted(FIRST, 1), submitted(SECOND, 2), other)
    for event in (*story, *changed()):
        apply(state, event)
    assert [workload.key for workload in queue_orders(state)["left"]] == listed
    rows = pending_rows(state, lambda workload: workload.created_us)
    places = {row["workload"]: row["position"] for row in rows}
    assert places == dict.fromkeys((FIRST, SECOND, OTHER)) | {
        key: place for place, key in enumerate(listed, 1)
    }


def _local_queue(name: str, **spec: str) -> facts.LocalQueueDefined:
    queue = LocalQueueSpec(cluster_queue="left", **spec)  # type: ignore[arg-type]
    return facts.LocalQueueDefined(at_us=at(9), name=name, namespace="left", spec=queue)
