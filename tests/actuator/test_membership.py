"""A hub's events as the hub's own actuator and as a member's read them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from actuator.events import member_filter
from actuator.ordering.orders import as_order
from tests.actuator.scene import Scene, ref, start
from tests.parts.stage import JOBS, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    StartOrdered,
    StopOrdered,
    WorkloadExpired,
    WorkloadPreempted,
)
from tidegate.contracts.fact_kinds.clusters import CopyRemoved
from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved, LedgerOpened
from tidegate.contracts.fact_kinds.reception import RoundCompleted, TimePassed, WatchesExpected
from tidegate.contracts.facts import FactEvent, WorkloadRemoved, WorkloadSubmitted
from tidegate.model.ids import ObjectRef

KEY, THERE = "team/job-x", "team/job-x@east"
HERE = ObjectRef(kind="batch/job", namespace="team", name="x", uid="u")
AT_EAST = replace(HERE, uid="u@east", cluster="east")
ROUND = RoundCompleted(
    at_us=1, resource="jobs.batch@east", session="s@east", round=1, list_version=3
)
Event = FactEvent | DecisionEvent


def ordered(job: ObjectRef, workload: str) -> list[Event]:
    return [
        StartOrdered(at_us=1, workload=workload, uid=job.uid, job=job),
        StopOrdered(at_us=1, workload=workload, uid=job.uid, job=job),
        WorkloadExpired(at_us=1, workload=workload, uid=job.uid, job=job),
        WorkloadRemoved(at_us=1, workload=workload, uid=job.uid),
    ]


@pytest.mark.parametrize(
    ("event", "read"),
    [
        *zip(ordered(AT_EAST, THERE), ordered(HERE, KEY), strict=True),
        (
            WorkloadSubmitted(
                at_us=1, workload=THERE, uid="u@east", job=AT_EAST, resource="jobs.batch@east"
            ),
            WorkloadSubmitted(at_us=1, workload=KEY, uid="u", job=HERE, resource="jobs.batch"),
        ),
        (
            WorkloadPreempted(
                at_us=1, workload=THERE, by="team/y@east", by_uid="v@east", reason="InClusterQueue"
            ),
            WorkloadPreempted(
                at_us=1, workload=KEY, by="team/y", by_uid="v", reason="InClusterQueue"
            ),
        ),
        (
            WatchesExpected(at_us=1, resources=("jobs.batch", "jobs.batch@east", "pods@west")),
            WatchesExpected(at_us=1, resources=("jobs.batch",)),
        ),
        (ROUND, replace(ROUND, resource="jobs.batch")),
        *((each, each) for each in (LedgerOpened(at_us=1, ledger_id="l"), TimePassed(at_us=1))),
    ],
)
def test_a_member_reads_its_own_under_its_own_names(event: Event, read: Event) -> None:
    assert member_filter("east")(event) == read


@pytest.mark.parametrize(
    "event",
    [
        *ordered(HERE, KEY),
        *ordered(replace(AT_EAST, uid="u@west", cluster="west"), "team/job-x@west"),
        WatchesExpected(at_us=1, resources=("jobs.batch", "jobs.batch@west")),
        replace(ROUND, resource="jobs.batch"),
        ClusterQueueRemoved(at_us=1, name="cq"),
    ],
)
def test_what_is_anothers_says_nothing_to_a_member(event: Event) -> None:
    assert member_filter("east")(event) is None


COPY = ObjectRef(kind="batch/job", namespace="team", name="x", uid="c@east", cluster="east")
HUBS = "team/job-x@hub"


@pytest.mark.parametrize(
    ("event", "workload", "copy"),
    [
        (StartOrdered(at_us=1, workload=KEY, uid="u", job=COPY), HUBS, "c"),
        (StartOrdered(at_us=1, workload="team/y@west", job=COPY), "team/y@west", "c"),
        (CopyRemoved(at_us=1, workload=KEY, uid="u", copy=COPY), HUBS, "c"),
        (QuotaReleased(at_us=1, workload=KEY, uid="u"), HUBS, ""),
    ],
)
def test_a_copy_has_its_names_here_and_its_workload_that_of_its_home(
    event: Event, workload: str, copy: str
) -> None:
    read = member_filter("east")(event)
    assert isinstance(read, StartOrdered | CopyRemoved | QuotaReleased)
    assert read.workload == workload
    match read:
        case StartOrdered():
            assert (read.job.uid, read.job.cluster) == (copy, "")
        case CopyRemoved():
            assert (read.copy.uid, read.copy.cluster, read.uid) == (copy, "", "u")
        case QuotaReleased():
            assert read.uid == "u"


def test_a_copy_in_another_cluster_is_nothing_to_do_at_home() -> None:
    away = replace(COPY, uid="c@west", cluster="west")
    read = member_filter("east")(StartOrdered(at_us=1, workload=THERE, uid="u@east", job=away))
    assert isinstance(read, StartOrdered)
    assert read.workload == KEY
    assert as_order(read, "L1", 1) is None


def test_of_namesakes_with_one_uid_each_actuator_starts_its_own() -> None:
    """As where a cluster was made from another's backup; the hub's shows nothing of a member's."""

    async def run() -> None:
        scene, other = Scene(with_crds=True), Scene()
        for candidate_scene in (scene, other):
            candidate_scene.make(JOBS, job())
        fields = scene.job()
        name = "default/job-train@east"
        named = replace(ref(fields), uid=f"{ref(fields).uid}@east", cluster="east")
        order = replace(start(fields), workload=name, uid=named.uid, job=named)
        submitted = WorkloadSubmitted(at_us=1, workload=name, uid=named.uid, job=named)
        async with alongside(scene.actuator(projects=True).run()):
            await scene.write(WatchesExpected(at_us=0, resources=()), submitted, order)
            await scene.write(replace(start(fields), workload="default/job-train"))
            await eventually(lambda: not scene.job()["spec"]["suspend"])
            assert scene.decision().endswith("/4"), "by its own order, not by the member's"
        async with alongside(
            scene.actuator("m", projects=True, as_read=member_filter("east")).run()
        ):
            await eventually(lambda: scene.decision().endswith("/3"))

    run_virtually(run())
