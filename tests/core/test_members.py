"""Member clusters: each is heard, compared and given quota by itself, in one ledger."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.member_clusters import POLICY, Hub
from tests.core.queues import of_cpu
from tests.core.telling import (
    JOBS,
    RUNNING,
    SECOND,
    beat,
    completed,
    flavor,
    gone,
    job,
    started,
    types,
)
from tidegate.contracts import observations
from tidegate.contracts.decisions import (
    StartOrdered,
    StopOrdered,
    WorkloadEvicted,
    WorkloadPending,
)
from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import GapObserved, ObservationRefused, RoundCompleted
from tidegate.core.members.cluster_status import SILENT_US, strictest_stop_policy
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.clusters import KINDS, RESOURCES
from tidegate.model.policy import PodsReady
from tidegate.model.quota import CheckRule, FlavorSpec, Preemption, Quota


def own_flavor(hub: Hub, key: str) -> str:
    [assignment] = hub.bus.state.workloads[key].assignment
    return assignment.flavors["cpu"]


def test_namesakes_with_one_uid_in_two_clusters_are_two_workloads() -> None:
    """As where a cluster was made from another's backup."""
    hub = Hub().open()
    for stream in (hub.bus, *hub.members.values()):
        assert "WorkloadSubmitted" in types(stream.tell(job()))
    keys = ["team/job-uid-train", "team/job-uid-train@east", "team/job-uid-train@west"]
    assert sorted(hub.bus.state.workloads) == keys
    assert sorted(hub.orders()) == [("", keys[0]), ("east", keys[1]), ("west", keys[2])]
    assert [own_flavor(hub, key) for key in keys] == ["own", "east", "west"]


def test_a_workload_takes_no_flavor_of_another_cluster_though_it_is_free() -> None:
    hub = Hub().open()
    for number in range(3):  # of two CPUs each, and there are four
        hub.members["east"].tell(job(f"train-{number}"))
    assert len(hub.orders()) == 2
    assert {own_flavor(hub, key) for _, key in hub.orders()} <= {"east"}
    [waiting] = [each for each in hub.bus.state.workloads.values() if each.phase == "pending"]
    assert waiting.pending_status is not None
    assert waiting.pending_status.reason == "WaitingForQuota"


def test_versions_removals_and_lists_count_within_one_cluster() -> None:
    hub = Hub().open()
    hub.bus.tell(job(version=900))
    hub.members["east"].tell(job(version=12))
    east = hub.bus.state.workloads["team/job-uid-train@east"]
    assert (east.version, east.resource, east.uid) == (12, "jobs.batch@east", "uid-train@east")
    assert types(hub.members["west"].tell(gone(version=2_000))) == []
    assert types(hub.members["east"].tell(gone(version=13))) == ["WorkloadRemoved"]
    assert list(hub.bus.state.workloads) == ["team/job-uid-train"]
    hub.members["west"].tell(job("later", version=30))
    removed = hub.bus.tell(started(number=2), completed(1_000, number=2))
    assert types(removed) == ["WorkloadRemoved"]
    assert list(hub.bus.state.workloads) == ["team/job-uid-later@west"]


def test_a_member_that_was_restored_from_a_backup_makes_nothing_anew_elsewhere() -> None:
    hub = Hub().open()
    hub.bus.tell(job(version=900))
    east = hub.members["east"]
    east.tell(job(version=500))
    east.tell(started(number=2))
    events = east.tell(job(version=20, round=2), completed(30, "uid-train", number=2))
    restored = [fact for fact in events if isinstance(fact, RoundCompleted)]
    assert [(fact.resource, fact.restored) for fact in restored] == [("jobs.batch@east", True)]
    versions = {key: workload.version for key, workload in hub.bus.state.workloads.items()}
    assert versions["team/job-uid-train"] == 900


def test_a_gap_in_one_stream_is_that_clusters_alone() -> None:
    hub = Hub().open()
    east = hub.members["east"]
    east.seq += 1
    [gap] = east.tell(observations.Probe())
    assert isinstance(gap, GapObserved)
    assert gap.cluster == "east"
    stale = {name for name, at in hub.bus.state.rounds.items() if at.stale}
    assert stale == {"jobs.batch@east"}


def _silent() -> Hub:
    """Return a hub where east is silent, after a job began in each and another came."""
    hub = Hub().open(replace(POLICY, pods_ready=PodsReady(timeout_us=20 * SECOND)))
    for member in hub.members.values():
        member.tell(job("first"))
    assert len(hub.orders()) == 2
    facts = hub.pass_time(SILENT_US // SECOND + 1, "west")
    silent = [fact for fact in facts if isinstance(fact, RemoteClusterChanged)]
    assert [(fact.cluster, fact.connected) for fact in silent] == [("@east", False)]
    for member in hub.members.values():
        member.tell(job("second"))  # what was on its way still comes
    return hub


def test_a_silent_cluster_keeps_its_quota_and_gets_nothing_and_the_others_go_on() -> None:
    hub = _silent()
    decisions = hub.decide()
    assert not [d for d in decisions if isinstance(d, StopOrdered) and "@east" in d.workload]
    evicted = [d.workload for d in decisions if isinstance(d, WorkloadEvicted)]
    assert evicted == ["team/job-uid-first@west"]
    begun = [d.workload for d in decisions if isinstance(d, StartOrdered)]
    assert begun == ["team/job-uid-second@west"]
    assert hub.bus.state.workloads["team/job-uid-first@east"].phase == "admitted"
    [pending] = [d for d in decisions if isinstance(d, WorkloadPending)]
    assert (pending.workload, pending.reason) == ("team/job-uid-second@east", "Suspended")
    assert "cluster east is silent" in pending.message


def test_a_cluster_that_is_heard_again_gets_what_it_missed() -> None:
    hub = _silent()
    hub.decide()
    assert "RemoteClusterChanged" in types(hub.pass_time(1, "east", "west"))
    again = hub.decide()
    assert "team/job-uid-second@east" in [d.workload for d in again if isinstance(d, StartOrdered)]
    evicted = [d.workload for d in again if isinstance(d, WorkloadEvicted)]
    assert "team/job-uid-first@east" in evicted


def test_no_workload_of_a_silent_cluster_is_preempted() -> None:
    hub = Hub().open(preemption=Preemption(within_cluster_queue="LowerPriority"))
    east = hub.members["east"]
    for number in range(2):
        east.tell(job(f"low-{number}"))
    assert len(hub.orders()) == 2
    hub.pass_time(SILENT_US // SECOND + 1)
    east.tell(job("high", priority=100))
    assert not [d for d in hub.decide() if isinstance(d, WorkloadEvicted)]
    hub.pass_time(1, "east")
    assert len([d for d in hub.decide() if isinstance(d, WorkloadEvicted)]) == 1


def test_what_runs_in_a_member_is_adopted_once_both_are_listed() -> None:
    hub = Hub()
    running = job("running", state=RUNNING)
    hub.join("east", running)
    assert hub.bus.state.expected is None, "a member cannot open the ledger"
    hub.open(listed=(running,))
    assert hub.bus.state.workloads["team/job-uid-running@east"].phase == "admitted"
    assert own_flavor(hub, "team/job-uid-running@east") == "east"


def test_heartbeats_of_a_member_move_no_clock_and_release_nothing_elsewhere() -> None:
    hub = Hub().open()
    hub.bus.tell(job())
    hub.decide()
    before = hub.bus.state.skew_us
    east = hub.members["east"]
    assert types(east.tell(beat(10_000_000, "nodes", JOBS))) == []
    assert set(types(hub.pass_time(20, "east", "west"))) <= {"TimePassed"}
    assert hub.bus.state.skew_us == before
    assert hub.bus.state.workloads["team/job-uid-train"].phase == "admitted"


@pytest.mark.parametrize(
    "observation",
    [
        job(kind="apps/statefulset"),
        job(elastic=True),
        job(prebuilt="mine"),
        job(workload="team/job-x@west"),
        job(uid="uid-train@west"),
        job(session="a@west"),
    ],
)
def test_what_a_member_may_not_say_is_refused(observation: observations.JobObserved) -> None:
    hub = Hub().open()
    [refused] = hub.members["east"].tell(observation)
    assert isinstance(refused, ObservationRefused)
    assert hub.bus.state.workloads == {}


def test_every_kind_of_a_member_lies_under_a_resource_of_its_lists() -> None:
    assert {JOB_KINDS[kind].resource for kind in KINDS} == RESOURCES


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_job_of_each_kind_is_admitted_in_its_own_cluster(kind: str) -> None:
    hub, resource = Hub().open(), JOB_KINDS[kind].resource
    east = hub.members["east"]
    both = tuple(sorted({JOBS, resource}))
    east.tell(beat(3, *both))
    if resource != JOBS:
        east.tell(started(resource), completed(6, resource=resource), beat(4, *both))
    east.resource = resource
    east.tell(job(kind=kind))
    assert hub.orders() == [("east", "team/job-uid-train@east")]
    [start] = hub.bus.state.workloads.values()
    assert start.job.kind == kind
    assert "WorkloadRemoved" in types(east.tell(gone(resource=resource)))


def test_a_member_defines_no_queue_and_no_quota() -> None:
    hub = Hub().open()
    spec = of_cpu({"own": Quota(nominal=10**9)})
    queue = observations.ClusterQueueObserved(
        name="cq", uid="cq", version=99, session="a", spec=spec
    )
    assert hub.members["east"].tell(queue, flavor("own", version=99)) == []
    lists = (
        started("clusterqueues.kueue.x-k8s.io"),
        completed(99, resource="clusterqueues.kueue.x-k8s.io"),
    )
    assert hub.members["east"].tell(*lists) == []
    assert list(hub.bus.state.objects.cluster_queues) == ["cq"]


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_cordoned_cluster_gets_nothing_new_and_a_drained_one_is_emptied(policy: str) -> None:
    hub = Hub().open()
    east = hub.members["east"]
    east.tell(job("first"))
    assert len(hub.orders()) == 1
    stopped = FlavorSpec(clusters=("east",), stop_policies={"east": policy})  # type: ignore[dict-item]
    hub.bus.tell(flavor("east", version=20, spec=stopped))
    assert strictest_stop_policy(hub.bus.state, "east") == policy
    east.tell(job("second"))
    decisions = hub.decide()
    assert not [d for d in decisions if isinstance(d, StartOrdered)]
    evicted = [d.reason for d in decisions if isinstance(d, WorkloadEvicted)]
    assert evicted == (["ClusterDrained"] if policy == "HoldAndDrain" else [])


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (CheckRule(name="far"), "Misconfigured"),
        (CheckRule(name="far", on_flavors=("east",)), "Misconfigured"),
        (CheckRule(name="far", on_flavors=("own",)), ""),
    ],
)
def test_a_check_without_an_answer_for_members_admits_none_there(
    rule: CheckRule, reason: str
) -> None:
    hub = Hub().open()
    quota = Quota(nominal=4_000)
    spec = replace(of_cpu({"own": quota, "east": quota}), checks=(rule,))
    check = observations.CheckObserved(
        name="far", uid="far", version=21, session="a", controller="x/y"
    )
    queue = observations.ClusterQueueObserved(
        name="cq", uid="cq", version=21, session="a", spec=spec
    )
    active = observations.CheckObserved(
        name="far", uid="far", version=22, session="a", controller="x/y", active=True
    )
    hub.bus.tell(check, active, queue)
    hub.decide()
    hub.members["east"].tell(job())
    mapping = {d.workload: d.reason for d in hub.decide() if isinstance(d, WorkloadPending)}
    assert mapping.get("team/job-uid-train@east", "") == reason


def test_what_waits_in_a_member_starts_after_a_recovery_only_once_all_there_is_listed() -> None:
    hub = Hub().open()
    east = hub.members["east"]
    east.tell(*(job(name, version=6) for name in ("first", "second", "third")))
    assert len(hub.orders()) == 2
    hub.bus.opened()
    hub.bus.tell(beat(2, JOBS), started(number=2), completed(40, number=2))
    ended = job("first", version=30, finished="Succeeded")
    east.tell(beat(3, JOBS), started(number=2), ended)
    assert hub.orders() == [], "an order that was lost may have let another run there"
    lost = job("lost", version=31, state=RUNNING)
    east.tell(lost, job("third", version=6), completed(40, "uid-first", "uid-third", "uid-lost"))
    east.tell(beat(4, JOBS))
    hub.decide()
    assert hub.bus.state.workloads["team/job-uid-third@east"].phase == "pending"
