"""What is observed is compared with what is wanted, and ordered again until they agree."""

from __future__ import annotations

import pytest

from tests.core.telling import JOBS, LEDGER, SECOND, Bus, Fields, beat, completed, job, started
from tests.replay.world import Ordered, World
from tidegate.contracts import observations
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import DecisionEvent, OrderReissued, StopOrdered
from tidegate.contracts.decisions import WorkloadEvicted as Evicted
from tidegate.core.decide import VERSION, decide
from tidegate.core.state.desired_state import INTERVAL_US_MAX
from tidegate.model.ids import ObjectRef
from tidegate.model.policy import Policy


@pytest.fixture
def world() -> World:
    """Return a world in which one job was admitted and its start was ordered just now."""
    world = World().open()
    world.turn(world.submit("a", 1, 0))
    return world


def name_of(world: World) -> str:
    [name] = world.jobs
    return name


def names(decided: list[DecisionEvent]) -> list[str]:
    return [type_name(event) for event in decided]


def test_an_order_that_was_lost_is_given_again_ever_more_rarely(world: World) -> None:
    waits = []
    for attempt in range(1, 9):
        waited = 0
        while not (decided := world.turn(world.wait(1))):
            waited += 1
        assert names(decided) == ["OrderReissued", "StartOrdered"]
        assert isinstance(decided[0], OrderReissued)
        assert (decided[0].order, decided[0].attempt) == ("start", attempt)
        waits.append(waited + 1)
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]
    assert waits[-1] * SECOND == INTERVAL_US_MAX


def test_an_order_that_is_seen_done_is_not_repeated(world: World) -> None:
    world.turn(*world.obey(name_of(world)))
    assert world.turn(world.wait(600)) == []


def test_a_job_suspended_by_hand_is_started_again_after_a_while(world: World) -> None:
    world.turn(*world.obey(name_of(world)))
    assert world.turn(world.wait(600), world.disobey(name_of(world))) == []
    assert world.turn(world.wait(9)) == []
    assert names(world.turn(world.wait(1))) == ["OrderReissued", "StartOrdered"]


def test_a_job_started_by_hand_without_admission_is_stopped_at_once() -> None:
    world = World().open()
    assert "StopOrdered" not in names(world.turn(world.submit("a", 99, 0)))
    [stop] = world.turn(world.disobey(name_of(world)))
    assert isinstance(stop, StopOrdered)
    assert stop.reason == "NotAdmitted"
    assert world.turn(*world.obey(name_of(world))) == []
    assert world.turn(world.wait(600)) == []


def test_a_job_started_by_hand_after_a_stop_is_stopped_again() -> None:
    world = World().open()
    world.turn(world.submit("a", 99, 0))
    world.turn(world.disobey(name_of(world)))
    world.turn(*world.obey(name_of(world)))
    world.turn(world.wait(60), world.disobey(name_of(world)))
    assert world.orders[name_of(world)] == Ordered(start=False, seq=world.entries[-1].seq)


def evicted(world: World) -> int:
    """Let the job run, drain its queue, and return the seq of the stop."""
    world.turn(*world.obey(name_of(world)))
    world.stops["a"] = "HoldAndDrain"
    assert names(world.turn(world.queue("a")))[-2:] == ["WorkloadEvicted", "StopOrdered"]
    return world.entries[-1].seq


def test_pods_that_take_their_time_to_end_are_waited_for(world: World) -> None:
    seq = evicted(world)
    ending = observations.JobState(started=True, active=1, decision=f"{LEDGER}/{seq}")
    world.turn(world.tell(name_of(world), state=ending))
    assert world.turn(world.wait(59)) == []
    assert names(world.turn(world.wait(1))) == ["OrderReissued", "StopOrdered"]


@pytest.mark.parametrize(("ledger", "behind"), [(LEDGER, 1), ("another", 0), ("", 0)])
def test_quota_comes_back_on_proof_alone(world: World, ledger: str, behind: int) -> None:
    mark = f"{ledger}/{evicted(world) - behind}"
    idle = observations.JobState(suspended=True, decision=mark)
    assert world.turn(world.tell(name_of(world), state=idle)) == []
    done = names(world.turn(*world.obey(name_of(world))))
    assert done[:2] == ["QuotaReleased", "WorkloadRequeued"]


def test_the_proof_of_a_stop_holds_for_its_repetitions() -> None:
    world = World().open(Policy(rules=VERSION))
    world.turn(world.submit("a", 1, 0))
    seq = evicted(world)
    for _ in range(2):
        while not (decided := world.turn(world.wait(1))):
            pass
        assert names(decided) == ["OrderReissued", "StopOrdered"]
    stopped = observations.JobState(suspended=True, decision=f"{LEDGER}/{seq}")
    done = names(world.turn(world.tell(name_of(world), state=stopped)))
    assert "QuotaReleased" in done


def failed(world: World, reason: str) -> observations.ActuationReported:
    name = name_of(world)
    order = world.orders[name]
    return observations.ActuationReported(
        job=ObjectRef(kind="batch/job", namespace="team", name=name, uid=world.jobs[name].uid),
        workload=world.jobs[name].workload,
        decision=f"{LEDGER}/{order.seq}",
        reason=reason,
    )


def test_a_start_that_can_never_work_is_given_up(world: World) -> None:
    decided = world.turn(failed(world, "invalid"))
    assert names(decided) == ["WorkloadEvicted", "StopOrdered"]
    assert isinstance(decided[0], Evicted)
    assert (decided[0].reason, decided[0].cause) == ("Deactivated", "FailedToStart")
    proven = world.turn(*world.obey(name_of(world)))
    assert names(proven) == ["QuotaReleased", "WorkloadDeactivated"]
    assert world.turn(world.wait(600)) == []


def test_a_stale_start_is_ordered_again_once_the_new_state_is_known(world: World) -> None:
    assert world.turn(world.wait(1), failed(world, "stale")) == []
    changed = observations.JobState(generation=5)
    [repeated, start] = world.turn(world.wait(1), world.tell(name_of(world), state=changed))
    assert names([repeated, start]) == ["OrderReissued", "StartOrdered"]
    assert getattr(start, "generation", 0) == 5


def test_a_stale_start_is_ordered_again_at_once_if_the_state_came_first(world: World) -> None:
    changed = observations.JobState(generation=5)
    assert world.turn(world.wait(1), world.tell(name_of(world), state=changed)) == []
    assert names(world.turn(failed(world, "stale"))) == ["OrderReissued", "StartOrdered"]


@pytest.mark.parametrize(("reason", "after_s"), [("conflict", 10), ("gone", 300)])
def test_other_failures_are_waited_out(world: World, reason: str, after_s: int) -> None:
    assert world.turn(failed(world, reason)) == []
    assert world.turn(world.wait(after_s - 1)) == []
    assert names(world.turn(world.wait(1))) == ["OrderReissued", "StartOrdered"]


def test_nothing_is_repaired_before_the_first_rounds_are_complete() -> None:
    bus = Bus().opened()
    running: Fields = {
        "state": observations.JobState(suspended=False, active=1),
        "queue": "nowhere",
    }
    bus.tell(beat(1, JOBS), started(), job(**running))
    assert decide(bus.state) == []
    bus.tell(completed(50, "uid-train"))
    assert names(decide(bus.state)) == ["WorkloadPending", "StopOrdered"]  # its queue leads nowhere
