"""Rules of a cycle, each in the smallest cluster that shows it."""

from __future__ import annotations

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import NAMESPACE, Arrival, beginning, flat_queues, submitted
from tidegate.contracts import facts
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.workload_deadlines import is_admission_blocked
from tidegate.core.state import deadlines
from tidegate.model.policy import PodsReady, Policy

SECOND_US = 1_000_000


def cohort(*, fair: bool = False, queues: int = 2) -> Cluster:
    """Return a cohort of ClusterQueues of 20 CPU; each preempts its lower priorities."""
    cluster = Cluster()
    cluster.fold(beginning("tidegate", fair=fair))
    cluster.fold(flat_queues(1, queues))
    cluster.decide(100)
    return cluster


def arrive(cluster: Cluster, name: str, queue: int, cpu: int, *, priority: int = 0) -> None:
    """Submit a job; nothing is decided yet."""
    cluster.now_us += SECOND_US
    cluster.arrive(Arrival(cluster.now_us, name, queue, cpu, priority, 60 * SECOND_US))


def running(cluster: Cluster) -> set[str]:
    """Return the names of the jobs that run."""
    return {key.removeprefix(f"{NAMESPACE}/") for key in cluster.running}


def end(cluster: Cluster, name: str) -> None:
    """Let a job end, and decide."""
    key = f"{NAMESPACE}/{name}"
    cluster.now_us += SECOND_US
    del cluster.running[key]
    cluster.fold([facts.WorkloadFinished(at_us=cluster.now_us, workload=key, uid=name)])
    assert cluster.decide(100)


def reprioritize(cluster: Cluster, name: str, priority: int) -> None:
    """Change a job's priority, and decide."""
    asked = submitted(cluster.jobs[f"{NAMESPACE}/{name}"])
    changed = facts.WorkloadChanged(
        at_us=cluster.now_us,
        workload=asked.workload,
        uid=asked.uid,
        queue=asked.queue,
        priority=priority,
        podsets=asked.podsets,
    )
    cluster.fold([changed])
    assert cluster.decide(100)


@pytest.mark.parametrize("fair", [False, True])
def test_a_borrower_waits_while_an_owner_has_more_to_start(fair: bool) -> None:  # noqa: FBT001
    cluster = cohort(fair=fair)
    arrive(cluster, "borrows", 1, 30, priority=9)
    arrive(cluster, "own-1", 0, 10)
    arrive(cluster, "own-2", 0, 10)
    assert cluster.decide(100)
    assert running(cluster) == {"own-1", "own-2"}
    assert cluster.tally.preemptions == 0


@pytest.mark.parametrize("fair", [False, True])
def test_a_borrower_waits_too_if_the_owner_that_started_had_preempted(fair: bool) -> None:  # noqa: FBT001
    cluster = cohort(fair=fair)
    arrive(cluster, "leaves", 0, 10, priority=-1)
    arrive(cluster, "ends", 0, 10)
    arrive(cluster, "other", 1, 20)
    assert cluster.decide(100)
    arrive(cluster, "preempts", 0, 10, priority=9)
    assert decide(cluster.state)
    for name in ("ends", "other"):
        cluster.finish(f"{NAMESPACE}/{name}")
    arrive(cluster, "borrows", 1, 30, priority=8)
    arrive(cluster, "owns", 0, 10, priority=1)
    key = f"{NAMESPACE}/leaves"
    del cluster.running[key]
    cluster.fold([facts.WorkloadStopped(at_us=cluster.now_us, workload=key, uid="leaves")])
    assert cluster.decide(100)
    assert running(cluster) == {"preempts", "owns", "leaves"}
    assert cluster.tally.preemptions == 0


@pytest.mark.parametrize("fair", [False, True])
def test_a_workload_that_could_not_act_is_looked_at_again_once_another_left(fair: bool) -> None:  # noqa: FBT001
    cluster = cohort(fair=fair)
    for name in ("first", "second"):
        arrive(cluster, name, int(name == "second"), 20)
    arrive(cluster, "third", 1, 20)
    assert cluster.decide(100)
    assert running(cluster) == {"first", "second"}
    end(cluster, "first")
    assert running(cluster) == {"second", "third"}


@pytest.mark.parametrize("fair", [False, True])
def test_a_waiting_workload_is_woken_when_the_priority_of_one_that_runs_falls(fair: bool) -> None:  # noqa: FBT001
    cluster = cohort(fair=fair)
    arrive(cluster, "other", 1, 20, priority=9)
    arrive(cluster, "runs", 0, 20, priority=9)
    arrive(cluster, "waits", 0, 20, priority=5)
    assert cluster.decide(100)
    assert running(cluster) == {"other", "runs"}
    reprioritize(cluster, "runs", 1)
    assert running(cluster) == {"other", "waits"}


def test_no_other_workload_is_looked_at_to_know_whose_pods_are_waited_for() -> None:
    cluster = cohort()
    policy = Policy(
        rules=VERSION, pods_ready=PodsReady(block_admission=True), repair_after_us=10**15
    )
    cluster.fold([facts.PolicyConfigured(at_us=0, name="policy", policy=policy)])
    for number in range(3):
        arrive(cluster, f"job-{number}", 0, 5)
        assert cluster.decide(100)
        assert running(cluster) == {f"job-{number}" for number in range(number + 1)}
        assert is_admission_blocked(cluster.state)
        ready = facts.PodsReadyReported(
            at_us=cluster.now_us,
            workload=f"{NAMESPACE}/job-{number}",
            uid=f"job-{number}",
            ready=True,
        )
        cluster.fold([ready])
        assert not is_admission_blocked(cluster.state)
        assert list(cluster.state.forest.unready) == []


def test_no_deadline_of_a_workload_that_is_gone_is_left() -> None:
    cluster = cohort()
    arrive(cluster, "gone", 0, 5)
    key = f"{NAMESPACE}/gone"
    for family in deadlines.OF_WORKLOADS:
        deadlines.set(cluster.state, f"{family}/{key}", 10**12)
    cluster.fold([facts.WorkloadRemoved(at_us=cluster.now_us, workload=key, uid="gone")])
    assert [text for text in cluster.state.deadlines.at if text.endswith(key)] == []
