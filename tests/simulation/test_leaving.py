"""Which workloads count as leaving, as a judge understands the ledger."""

from __future__ import annotations

import pytest

from tests.simulation.judging.ledger_watch import LedgerWatch
from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import QuotaReserved, StartOrdered, WorkloadEvicted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import ClusterQueueDefined, WorkloadAdopted
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, FlavorQuotas, Quota, ResourceGroup

KEY = "team/job"
EVICTED = WorkloadEvicted(
    at_us=1, workload=KEY, uid="j", cluster_queue="q", reason="AdmissionCheck"
)
QUOTAS = FlavorQuotas(flavor="default", quotas={"cpu": Quota(nominal=1_000)})
GROUP = ResourceGroup(resources=("cpu",), flavors=(QUOTAS,))
DEFINED = ClusterQueueDefined(at_us=1, name="q", spec=ClusterQueueSpec(groups=(GROUP,)))
GIVEN = PodSetAssignment(name="main", count=1, flavors={"cpu": "default"}, usage={"cpu": 500})
RESERVED = QuotaReserved(at_us=1, workload=KEY, uid="j", cluster_queue="q", assignment=(GIVEN,))


JOB = ObjectRef(kind="batch/job", namespace="team", name="job", uid="j")
STARTED = StartOrdered(at_us=1, workload=KEY, uid="j", cluster_queue="q", job=JOB)
ADOPTED = WorkloadAdopted(at_us=1, workload=KEY, uid="j", cluster_queue="q", assignment=(GIVEN,))
Event = ClusterQueueDefined | QuotaReserved | WorkloadEvicted | StartOrdered | WorkloadAdopted


def watch_of(*events: Event) -> LedgerWatch:
    watch = LedgerWatch()
    for seq, event in enumerate(events, 1):
        payload = encode(event).decode()
        watch.take_in(Entry(0, seq, 1, seq, event.at_us, "local", "", "", payload, b""))
    return watch


def test_a_workload_sent_back_by_a_check_before_it_got_quota_does_not_leave() -> None:
    assert watch_of(EVICTED).evicting == set()


def test_a_workload_that_holds_quota_and_has_to_leave_does() -> None:
    assert watch_of(DEFINED, RESERVED, EVICTED).evicting == {KEY}


def test_quota_of_a_job_that_never_started_is_given_back_without_a_stop() -> None:
    assert not watch_of(DEFINED, RESERVED).was_started("j")


@pytest.mark.parametrize("events", [(DEFINED, RESERVED, STARTED), (DEFINED, ADOPTED)])
def test_a_job_started_or_running_before_the_ledger_has_to_be_stopped(
    events: tuple[Event, ...],
) -> None:
    assert watch_of(*events).was_started("j")
