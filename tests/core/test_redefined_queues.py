"""A ClusterQueue is defined anew without a resource: pending workloads of it block no others."""

from __future__ import annotations

from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.observations import JobState
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

GIB = 2**30


def queue(**nominal: int) -> facts.ClusterQueueDefined:
    quotas = FlavorQuotas(
        flavor="default", quotas={name: Quota(nominal=units) for name, units in nominal.items()}
    )
    group = ResourceGroup(resources=tuple(nominal), flavors=(quotas,))
    spec = ClusterQueueSpec(groups=(group,), namespace_selector=LabelSelector())
    return facts.ClusterQueueDefined(at_us=0, name="team", spec=spec)


def submitted(name: str, cpu: str, memory: str) -> facts.WorkloadSubmitted:
    job = ObjectRef(kind="batch/job", namespace="ns", name=name, uid=name)
    podset = PodSet(containers=(Container(requests={"cpu": cpu, "memory": memory}),))
    return facts.WorkloadSubmitted(
        at_us=1,
        workload=f"ns/{name}",
        uid=name,
        job=job,
        queue="main",
        created_us=1,
        podsets=(podset,),
    )


def opened() -> State:
    """Return a ledger with a queue of processors and memory."""
    state = State()
    policy = Policy(rules=VERSION, ignore_undeclared=True)
    for fact in (
        facts.LedgerOpened(at_us=0, ledger_id="ledger"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.PolicyConfigured(at_us=0, name="policy", policy=policy),
        facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()),
        facts.NamespaceDefined(at_us=0, name="ns"),
        queue(cpu=20_000, memory=20 * GIB),
        facts.LocalQueueDefined(
            at_us=0, name="main", namespace="ns", spec=LocalQueueSpec(cluster_queue="team")
        ),
    ):
        apply(state, fact)
    return state


def test_a_workload_whose_resource_its_queue_has_no_more_stops_no_other() -> None:
    state = opened()
    apply(state, submitted("runs", "10", "20Gi"))
    decide(state)
    running = JobState(suspended=False, active=1, started=True)
    apply(
        state,
        facts.JobStateReported(at_us=2, workload="ns/runs", uid="runs", version=2, state=running),
    )
    decide(state)
    apply(state, submitted("waits", "15", "10Gi"))
    decide(state)
    apply(state, queue(cpu=20_000))
    podsets = state.workloads["ns/runs"].podsets
    deactivated = facts.WorkloadChanged(
        at_us=3,
        workload="ns/runs",
        uid="runs",
        queue="main",
        podsets=podsets,
        priority=0,
        active=False,
        version=3,
    )
    apply(state, deactivated)
    assert [type_name(event) for event in decide(state)] == ["WorkloadEvicted", "StopOrdered"]
