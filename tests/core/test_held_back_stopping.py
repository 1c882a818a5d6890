"""A workload that was preempted holds back others while its pods stop, and after a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE, beginning
from tests.core.test_cycle_rules import arrive, running
from tests.core.test_held_back import LENT, OTHERS, borrow, displaced, full, remove, submit
from tidegate.contracts import decisions, facts
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.queueing.displaced import is_held_back
from tidegate.core.quota.forest import forest

WAITS = f"{NAMESPACE}/waits"


@dataclass
class Stopping(Cluster):
    """Its jobs stop only when they are told to."""

    stops: list[str] = field(default_factory=list)

    def _stop_job(self, key: str) -> None:
        self.stops.append(key)

    def stop(self, name: str) -> None:
        """Let a job that was ordered to stop be gone, and decide."""
        self.stops.remove(f"{NAMESPACE}/{name}")
        super()._stop_job(f"{NAMESPACE}/{name}")
        assert self.decide(1_000)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_workload_holds_back_others_while_its_pods_stop(
    restarts: bool,  # noqa: FBT001 - a case
) -> None:
    cluster = Stopping()
    displaced(cluster)
    assert cluster.stops == [f"{NAMESPACE}/waits"]
    if restarts:
        cluster.state = decode(encode(cluster.state))
    borrow(cluster)
    arrive(cluster, "low", 1, 5)
    assert cluster.decide(1_000)
    assert cluster.tally.preemptions == 1
    cluster.stop("waits")
    assert running(cluster) == OTHERS | LENT | {"tiny"}


def test_while_its_pods_stop_it_holds_back_none_of_its_own_priority() -> None:
    cluster = Stopping()
    displaced(cluster)
    borrow(cluster)
    submit(cluster, ("equal", 5, 5))
    assert cluster.tally.preemptions == 3


def test_stopped_before_its_preemptor_may_start_it_holds_back_others() -> None:
    cluster = Stopping()
    full(cluster, ("own", 9, 9), ("tiny", 1, 9), ("waits", 5, 5), ("next", 5, 4), ("first", 10, 9))
    cluster.stop("waits")
    assert cluster.stops == [f"{NAMESPACE}/next"]
    borrow(cluster)
    submit(cluster, ("low", 5, 4))
    assert cluster.tally.preemptions == 2


def test_what_stops_for_another_reason_than_preemption_holds_back_none() -> None:
    cluster = Cluster()
    displaced(cluster)
    cq = cluster.state.forest.cluster_queues["queue-1"]
    remove(cluster, "waits")
    cq.moved_seq = cq.outside_seq  # a displaced workload has used the last change
    own = f"{NAMESPACE}/own"
    evicted = decisions.WorkloadEvicted(
        at_us=cluster.now_us, workload=own, uid="own", reason="PodsReadyTimeout"
    )
    apply(cluster.state, evicted)
    assert list(cq.leaving) == [own]
    assert not is_held_back(cq, 0)


def leave(cluster: Cluster) -> None:
    """Send the displaced workload to another ClusterQueue."""
    known = cluster.state.workloads[WAITS]
    moved_to = facts.WorkloadChanged(
        at_us=cluster.now_us,
        workload=known.key,
        uid=known.uid,
        queue="queue-3",
        priority=known.priority,
        podsets=known.podsets,
    )
    cluster.fold([moved_to])


def redefine(cluster: Cluster) -> None:
    """Delete the ClusterQueue of the displaced workload, and create it again."""
    name = cluster.state.workloads[WAITS].cluster_queue
    spec = cluster.state.objects.cluster_queues[name].spec
    cluster.fold([facts.ClusterQueueRemoved(at_us=cluster.now_us, name=name)])
    cluster.decide(1)
    cluster.fold([facts.ClusterQueueDefined(at_us=cluster.now_us, name=name, spec=spec)])


def as_kueue(cluster: Cluster) -> None:
    """Decide as Kueue does for a while."""
    for mode in ("kueue", "tidegate"):
        policies = beginning(mode, fair=True)
        cluster.fold([each for each in policies if isinstance(each, facts.PolicyConfigured)])


@pytest.mark.parametrize("change", [leave, redefine, as_kueue])
def test_a_restart_while_pods_stop_holds_back_the_same_workloads(
    change: Callable[[Cluster], None],
) -> None:
    cluster = Stopping()
    displaced(cluster)
    change(cluster)
    restarted = decode(encode(cluster.state))
    for priority in (-1, 0, 4, 5):
        held = {
            name: is_held_back(cq, priority)
            for name, cq in forest(cluster.state).cluster_queues.items()
        }
        again = forest(restarted).cluster_queues
        assert held == {name: is_held_back(cq, priority) for name, cq in again.items()}
