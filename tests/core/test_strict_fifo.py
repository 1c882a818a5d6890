"""In a StrictFIFO queue no workload overtakes the head, unless the head may not use the queue."""

from __future__ import annotations

from msgspec.structs import replace

from bench.virtual.loads import NAMESPACE, beginning
from bench.virtual.loads import queue as bench_queue
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import AdmissionFairSharing
from tidegate.model.quota import FlavorQuotas, Preemption, Quota, ResourceGroup

SECOND_US = 1_000_000
BUSY = f"{NAMESPACE}/lq-1"


def strict(
    state: State, namespaces: LabelSelector | None = None, *, by_usage: bool = False
) -> None:
    """Define a StrictFIFO queue of 20 CPU and 20 GiB of memory that preempts lower priorities.

    Args:
        state: where.
        namespaces: those that may use it; None: all.
        by_usage: whose LocalQueue used less is offered first.
    """
    for fact in beginning("tidegate", fair=False):
        apply(state, fact)
    defined, local = bench_queue(0, cohort="")
    assert isinstance(defined, facts.ClusterQueueDefined)
    quotas = {"cpu": Quota(nominal=20_000), "memory": Quota(nominal=20 << 30)}
    groups = (
        ResourceGroup(
            resources=("cpu", "memory"), flavors=(FlavorQuotas(flavor="default", quotas=quotas),)
        ),
    )
    spec = replace(
        defined.spec,
        groups=groups,
        strategy="StrictFIFO",
        preemption=Preemption(within_cluster_queue="LowerPriority"),
        namespace_selector=LabelSelector() if namespaces is None else namespaces,
        usage_based_admission=by_usage,
    )
    apply(state, replace(defined, spec=spec))
    apply(state, local)


def submit(
    state: State,
    name: str,
    requests: dict[str, str],
    priority: int,
    queue: str = f"{NAMESPACE}/lq-0",
) -> list[str]:
    """Submit a workload, decide, and return whose job is started."""
    namespace, _, local_queue = queue.partition("/")
    at_us = state.now_us + SECOND_US
    submitted = facts.WorkloadSubmitted(
        at_us=at_us,
        workload=f"{namespace}/{name}",
        uid=name,
        job=ObjectRef(kind="batch/job", namespace=namespace, name=name, uid=name),
        queue=local_queue,
        priority=priority,
        created_us=at_us,
        podsets=(PodSet(containers=(Container(requests=requests),)),),
    )
    apply(state, submitted)
    return started(decide(state))


def started(decisions: list[DecisionEvent]) -> list[str]:
    """Return the names of the workloads whose jobs are started."""
    starts = (decision for decision in decisions if isinstance(decision, StartOrdered))
    return [decision.workload.rpartition("/")[2] for decision in starts]


def stop(state: State, name: str) -> list[str]:
    """Let a job have stopped, decide, and return whose job is started."""
    at_us = state.now_us + SECOND_US
    stopped = facts.WorkloadStopped(at_us=at_us, workload=f"{NAMESPACE}/{name}", uid=name)
    apply(state, stopped)
    return started(decide(state))


def test_a_head_that_preempted_is_not_overtaken_while_its_victims_stop() -> None:
    state = State()
    strict(state)
    assert submit(state, "runs", {"cpu": "15"}, 0) == ["runs"]
    assert submit(state, "head", {"cpu": "20"}, 9) == []
    assert submit(state, "behind", {"memory": "1Gi"}, 5) == []
    assert submit(state, "before", {"memory": "1Gi"}, 10) == ["before"]
    assert stop(state, "runs") == ["head", "behind"]


def test_a_head_that_lacks_quota_is_not_overtaken() -> None:
    state = State()
    strict(state)
    assert submit(state, "runs", {"cpu": "15"}, 9) == ["runs"]
    assert submit(state, "head", {"cpu": "20"}, 9) == []
    assert submit(state, "behind", {"memory": "1Gi"}, 5) == []


def test_a_head_whose_namespace_may_not_use_the_queue_delays_no_other() -> None:
    state = State()
    strict(state, LabelSelector(labels={"team": "a"}))
    named = facts.NamespaceDefined(at_us=0, name=NAMESPACE, labels={"team": "a"})
    apply(state, named)
    apply(state, facts.NamespaceDefined(at_us=0, name="other"))
    leads = state.objects.local_queues[f"{NAMESPACE}/lq-0"]
    apply(state, replace(leads, namespace="other"))
    assert submit(state, "foreign", {"cpu": "1"}, 100, queue="other/lq-0") == []
    assert submit(state, "own", {"cpu": "1"}, 0) == ["own"]


def test_a_head_whose_local_queue_used_the_least_is_not_overtaken_either() -> None:
    state = State()
    strict(state, by_usage=True)
    policy = replace(
        state.policy, admission_fair_sharing=AdmissionFairSharing(half_life_us=SECOND_US)
    )
    apply(state, facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
    leads = state.objects.local_queues[f"{NAMESPACE}/lq-0"]
    apply(state, replace(leads, name="lq-1"))
    assert submit(state, "runs", {"cpu": "15"}, 0, queue=BUSY) == ["runs"]
    assert submit(state, "head", {"cpu": "20"}, 0) == []
    assert submit(state, "behind", {"memory": "1Gi"}, 0, queue=BUSY) == []
