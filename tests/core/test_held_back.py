"""No workload moves others for shares in place of a displaced one of its ClusterQueue."""

from __future__ import annotations

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE, beginning, flat_queues
from tests.core.cohort import Cluster as Cohort
from tests.core.test_cycle_rules import arrive, end, reprioritize, running
from tests.core.test_shortfalls import start
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State

OTHERS = {"large", "own", "first", "c", "d"}
LENT = {"lent-1", "lent-2", "lent-3", "lent-4"}


def full(cluster: Cluster, *jobs: tuple[str, int, int], pieces: int = 4) -> None:
    """Fill three ClusterQueues, the last with pieces, and submit jobs to the other one.

    Args:
        cluster: of four ClusterQueues of 20 CPU from here on.
        jobs: name, CPU and priority.
        pieces: how many jobs of 3 CPU the last ClusterQueue has.
    """
    cluster.fold(beginning("tidegate", fair=True))
    cluster.fold(flat_queues(1, 4))
    cluster.decide(1_000)
    start(cluster, ("large", 0, 20), ("c", 2, 20), ("d", 3, 20 - 3 * pieces))
    start(cluster, *((f"ends-{number}", 3, 3) for number in range(1, pieces + 1)))
    submit(cluster, *jobs)


def submit(cluster: Cluster, *jobs: tuple[str, int, int]) -> None:
    """Submit jobs to the second ClusterQueue one after the other: name, CPU, priority."""
    for name, cpu, priority in jobs:
        arrive(cluster, name, 1, cpu, priority=priority)
        assert cluster.decide(1_000)


class Events(Cohort):
    """A random cluster that keeps all its events."""

    def __init__(self, seed: int, *, fair: bool) -> None:
        self.events: list[FactEvent | DecisionEvent] = []
        super().__init__(seed, fair=fair)

    def fold(self, event: FactEvent) -> None:
        """Fold a fact."""
        self.events.append(event)
        super().fold(event)

    def _decide(self) -> None:
        while decisions := decide(self.state):
            self.events += decisions
            for decision in decisions:
                self._obey(decision)

    def define_again(self) -> None:
        """Define a ClusterQueue as it is: all trees are built again."""
        name, cq = next(iter(self.state.forest.cluster_queues.items()))
        self.fold(facts.ClusterQueueDefined(at_us=self.now_us, name=name, spec=cq.spec))


def noted(state: State) -> dict[str, dict[int, list[int]]]:
    """Return what is noted of displaced workloads, by ClusterQueue."""
    return {name: cq.displaced for name, cq in forest(state).cluster_queues.items()}


def displaced(cluster: Cluster) -> None:
    """Let "waits" be preempted at home."""
    full(cluster, ("own", 14, 9), ("tiny", 1, 9), ("waits", 5, 5), ("first", 5, 9))


def borrow(cluster: Cluster, pieces: int = 4) -> None:
    """Let the first ClusterQueue take what the last one leaves, each piece too small for others."""
    for number in range(1, pieces + 1):
        end(cluster, f"ends-{number}")
        start(cluster, (f"lent-{number}", 0, 3))


def held_back() -> Cluster:
    """Return a cluster in which a workload of low priority came after the displaced one."""
    cluster = Cluster()
    displaced(cluster)
    borrow(cluster)
    arrive(cluster, "low", 1, 5)
    assert cluster.decide(1_000)
    return cluster


def remove(cluster: Cluster, name: str) -> None:
    """Let a Workload be deleted, and decide."""
    key = f"{NAMESPACE}/{name}"
    cluster.fold([facts.WorkloadRemoved(at_us=cluster.now_us, workload=key, uid=name)])
    assert cluster.decide(1_000)


def moved(cluster: Cluster, name: str) -> bool:
    """Tell whether a job has moved two others, and nothing else happened."""
    left = LENT - running(cluster)
    return running(cluster) - {"tiny"} == (OTHERS | LENT | {name}) - left and len(left) == 2


def test_it_moves_none_that_the_displaced_one_could_take_from_it() -> None:
    cluster = held_back()
    assert running(cluster) == OTHERS | LENT | {"tiny"}
    assert cluster.tally.preemptions == 1


def test_after_a_restart_it_is_held_back_as_before() -> None:
    cluster = Cluster()
    displaced(cluster)
    borrow(cluster)
    cluster.state = decode(encode(cluster.state))
    arrive(cluster, "low", 1, 5)
    assert cluster.decide(1_000)
    assert cluster.tally.preemptions == 1


def test_once_its_queue_changed_the_displaced_one_moves_first() -> None:
    cluster = held_back()
    end(cluster, "tiny")
    assert moved(cluster, "waits")


def test_of_higher_or_equal_priority_it_moves_others_at_once() -> None:
    cluster = Cluster()
    displaced(cluster)
    borrow(cluster)
    arrive(cluster, "equal", 1, 5, priority=5)
    assert cluster.decide(1_000)
    assert moved(cluster, "equal")


@pytest.mark.parametrize("how", ["removed", "lower"])
def test_it_is_woken_once_none_is_displaced_before_it(how: str) -> None:
    cluster = held_back()
    if how == "lower":
        reprioritize(cluster, "waits", 0)
    else:
        remove(cluster, "waits")
    assert moved(cluster, "low")


def test_the_next_displaced_one_holds_others_back_once_the_first_has_moved() -> None:
    cluster = Cluster()
    first = ("own", 9, 9), ("tiny", 1, 9), ("waits", 5, 5), ("next", 5, 4)
    full(cluster, *first, ("first", 5, 9), ("second", 5, 9), pieces=6)
    borrow(cluster, pieces=6)
    submit(cluster, ("low", 5, 0))
    assert cluster.tally.preemptions == 2
    end(cluster, "tiny")
    assert running(cluster) & {"waits", "next", "low"} == {"waits"}
    assert cluster.tally.preemptions == 4
    remove(cluster, "next")
    assert running(cluster) & {"waits", "low"} == {"waits", "low"}
    assert cluster.tally.preemptions == 5


def test_the_last_displaced_one_of_a_priority_holds_others_back() -> None:
    cluster = Cluster()
    full(cluster, ("own", 2, 9), ("tiny", 1, 9), ("big", 12, 5), ("waits", 5, 5), ("first", 12, 9))
    end(cluster, "tiny")
    submit(cluster, ("second", 5, 9))
    assert cluster.tally.preemptions == 2
    borrow(cluster)
    submit(cluster, ("low", 5, 0))
    assert cluster.tally.preemptions == 2
    assert "low" not in running(cluster)


@pytest.mark.parametrize("seed", [4, 6, 13, 16, 18, 22])
def test_after_any_event_a_restart_finds_the_same_workloads_displaced(seed: int) -> None:
    cluster = Events(seed, fair=True)
    for _ in range(16):
        cluster.step()
        cluster.define_again()
    state, seen = State(), False
    for event in cluster.events:
        apply(state, event)
        if isinstance(event, QuotaReleased):
            continue  # the next event of the same group queues it again
        known = noted(state)
        assert noted(decode(encode(state))) == known
        seen = seen or any(known.values())
    assert seen
