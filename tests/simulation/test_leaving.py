"""Who counts as leaving, as an outsider understands the ledger."""

from __future__ import annotations

from tests.simulation.judging.ledger_watch import LedgerWatch
from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import QuotaReserved, WorkloadEvicted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import ClusterQueueDefined
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


def told(*events: ClusterQueueDefined | QuotaReserved | WorkloadEvicted) -> LedgerWatch:
    watch = LedgerWatch()
    for seq, event in enumerate(events, 1):
        payload = encode(event).decode()
        watch.take_in(Entry(0, seq, 1, seq, event.at_us, "local", "", "", payload, b""))
    return watch


def test_who_was_sent_back_by_a_check_before_it_got_quota_does_not_leave() -> None:
    assert told(EVICTED).evicting == set()


def test_who_holds_quota_and_was_told_to_leave_does() -> None:
    assert told(DEFINED, RESERVED, EVICTED).evicting == {KEY}
