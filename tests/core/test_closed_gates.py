"""What one of Kueue's feature gates changes, open and closed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.queues import defined, of_cpu
from tests.core.telling import Bus, job
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    StartOrdered,
    WorkloadPending,
)
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import FlavorFungibility, FlavorSpec, Preemption, Quota

PRESERVE, ORCHESTRATED = "FlavorFungibilityPreserveScanProgress", "MultiKueueOrchestratedPreemption"
NONE, ONE = Quota(nominal=0), Quota(nominal=1_000)


def cluster(gates: dict[str, bool]) -> State:
    """Return a cluster of two flavors that decides as Kueue does."""
    state = State()
    policy = Policy(compatibility="kueue", rules=VERSION, gates=gates)
    for event in (
        facts.LedgerOpened(at_us=0, ledger_id="gates"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.PolicyConfigured(at_us=0, name="policy", policy=policy),
        facts.FlavorDefined(at_us=0, name="spot", spec=FlavorSpec()),
        facts.FlavorDefined(at_us=0, name="fixed", spec=FlavorSpec()),
        facts.NamespaceDefined(at_us=0, name="team"),
    ):
        apply(state, event)
    return state


def queue(state: State, name: str, spot: Quota, fixed: Quota) -> None:
    """Define a ClusterQueue of a cohort that stops its search at flavors where it may preempt."""
    spec = replace(
        of_cpu(
            {"spot": spot, "fixed": fixed},
            cohort="all",
            preemption=Preemption(within_cluster_queue="LowerPriority"),
        ),
        fungibility=FlavorFungibility(when_can_preempt="MayStopSearch"),
    )
    for event in defined(name, spec, local=f"local.{name}", namespace="team"):
        apply(state, event)


def submit(
    state: State, name: str, to: str, *, priority: int = 0, gates: tuple[str, ...] = ()
) -> None:
    """Submit a job of one CPU."""
    fact = facts.WorkloadSubmitted(
        at_us=state.now_us + 1_000_000,
        workload=f"team/{name}",
        uid=name,
        job=ObjectRef(kind="batch/job", namespace="team", name=name, uid=name),
        queue=f"local.{to}",
        priority=priority,
        created_us=state.now_us + 1_000_000,
        podsets=(PodSet(containers=(Container(requests={"cpu": "1"}),)),),
        preemption_gates=gates,
    )
    apply(state, fact)


def flavors(state: State) -> dict[str, str]:
    """Return the flavor of each workload that has quota."""
    return {
        workload.uid: workload.assignment[0].flavors["cpu"]
        for workload in state.workloads.values()
        if workload.assignment
    }


@pytest.mark.parametrize("preserved", [True, False])
def test_a_skipped_head_keeps_its_scan_while_the_gate_is_open(*, preserved: bool) -> None:
    state = cluster({} if preserved else {PRESERVE: False})
    queue(state, "lender", ONE, ONE)
    queue(state, "a", NONE, NONE)
    queue(state, "b", NONE, NONE)
    submit(state, "first", "a")
    submit(state, "second", "b")
    [pending] = [event for event in decide(state) if isinstance(event, WorkloadPending)]
    assert (pending.workload, pending.reason) == ("team/second", "WaitingForQuota")
    assert pending.scan == (({"cpu": 0},) if preserved else ())
    assert flavors(state) == {"first": "spot", "second": "fixed"}


@pytest.mark.parametrize("gate", [ORCHESTRATED, "ConcurrentAdmission"])
def test_a_head_behind_a_preemption_gate_tries_the_same_flavors_again(gate: str) -> None:
    state = cluster({gate: True})
    queue(state, "a", ONE, ONE)
    submit(state, "low", "a")
    decide(state)
    submit(state, "high", "a", priority=1, gates=("wait",))
    [pending] = decide(state)
    assert isinstance(pending, WorkloadPending)
    assert (pending.reason, pending.inadmissible, pending.scan) == ("AdmissionGated", True, ())
    assert flavors(state) == {"low": "spot"}


@pytest.mark.parametrize("counts", [True, False])
def test_finished_pods_are_no_fact_while_they_do_not_count(*, counts: bool) -> None:
    bus = Bus().opened()
    policy = Policy(gates={} if counts else {"ReclaimablePods": False})
    apply(bus.state, facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
    bus.tell(job(version=10))
    reclaimed = bus.tell(job(version=11, reclaimable={"main": 1}))
    assert [type(fact) for fact in reclaimed] == ([facts.PodsReclaimed] if counts else [])
    assert bus.tell(job(version=12, reclaimable={"main": 1})) == []
    [submitted] = bus.tell(job("other", reclaimable={"main": 1}))
    assert isinstance(submitted, facts.WorkloadSubmitted)
    assert submitted.reclaimable == ({"main": 1} if counts else {})


@pytest.mark.parametrize("labelled", [True, False])
def test_pods_have_the_labels_of_their_queues_while_the_gate_is_open(*, labelled: bool) -> None:
    state = cluster({} if labelled else {"AssignQueueLabelsForPods": False})
    queue(state, "a", ONE, ONE)
    queue(state, "b.c", ONE, ONE)
    submit(state, "one", "a")
    submit(state, "two", "b.c")
    starts = [event for event in decide(state) if isinstance(event, StartOrdered)]
    labels = [start.podsets[0].labels for start in starts]
    queues = [
        {key.partition("/")[2]: name for key, name in each.items() if "queue-name" in key}
        for each in labels
    ]
    a = {"local-queue-name": "local.a", "cluster-queue-name": "a"}
    assert queues == ([a, {"local-queue-name": "local.b.c"}] if labelled else [{}, {}])
