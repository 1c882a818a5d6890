"""A job with variants is one job in the metrics that say how many are not admitted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.scheduler.metrics_story import World, about, queues, reserved, submitted
from tidegate.contracts import decisions

PARENT, FIRST, SECOND = "left/job", "left/job-any", "left/job-other"
CQ, LQ = {"cluster_queue": "left"}, {"name": "main", "namespace": "left"}
WAITS = {"reason": "NoReservation", "underlying_cause": "PendingEvaluation"}


@pytest.fixture
def world() -> World:
    """A job waits, with two variants."""
    world = World()
    world.happen(*queues(), submitted(PARENT, 0))
    for key in (FIRST, SECOND):
        variant = replace(submitted(key, 1), variant_of=PARENT)
        fields = {"parent": PARENT, "flavor": "any", "submission": variant}
        world.happen(about(decisions.VariantCreated, key, 1, **fields))
    return world


def unadmitted(world: World) -> list[str]:
    """Return the series by ClusterQueue, after checking that those by LocalQueue say the same."""
    lines = world.page().splitlines()
    by_queue, by_local = (
        [line.rpartition(" ")[2] for line in lines if line.startswith(f"kueue_{prefix}unadmitted")]
        for prefix in ("", "local_queue_")
    )
    assert by_queue == by_local
    return by_queue


def test_a_job_that_waits_is_counted_once_and_its_variants_wait(world: World) -> None:
    """Source: Kueue's getUnadmittedWorkloadStatus."""
    assert world.value("unadmitted_workloads", **CQ, **WAITS) == 1
    assert world.value("local_queue_unadmitted_workloads", **LQ, **CQ, **WAITS) == 1
    assert unadmitted(world) == ["1.0"]
    assert world.value("pending_workloads", **CQ, status="active") == 2


def test_a_job_is_unadmitted_until_a_variant_is_admitted_and_again_after(world: World) -> None:
    world.happen(reserved(FIRST, 5, "check"))
    assert unadmitted(world) == ["1.0"]
    world.happen(about(decisions.WorkloadAdmitted, FIRST, 6))
    assert unadmitted(world) == []
    world.happen(about(decisions.WorkloadEvicted, FIRST, 7, reason="Preempted"))
    assert unadmitted(world) == []
    world.happen(about(decisions.QuotaReleased, FIRST, 8, reason="Preempted"))
    assert world.value("unadmitted_workloads", **CQ, **WAITS) == 1
