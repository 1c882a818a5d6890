"""What runs without an admission, or not as it was admitted, is stopped and kept stopped."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from msgspec.structs import replace

from tests.core.telling import JOBS, LEDGER, completed, started
from tests.replay.world import World
from tidegate.contracts import observations
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import DecisionEvent, StopOrdered, WorkloadEvicted
from tidegate.core.folding import snapshot
from tidegate.model.podset import Container, PodSet

Changes: TypeAlias = dict[str, object]
RUNS = observations.JobState(suspended=False, started=True, active=1)


@pytest.fixture
def world() -> World:
    """Return a world in which one job of one pod runs as it was admitted."""
    world = World().open()
    world.turn(world.submit("a", 1, 0))
    world.all_obey()
    return world


def only(world: World) -> str:
    [name] = world.jobs
    return name


def names(decided: list[DecisionEvent]) -> list[str]:
    return [type_name(event) for event in decided]


def pods(count: int = 1, cpu: str = "1", **more: object) -> Changes:
    containers = (Container(requests={"cpu": cpu}),)
    return {"podsets": (replace(PodSet(count=count, containers=containers), **more),)}


@pytest.mark.parametrize(
    "changed",
    [
        pods(count=12),
        pods(cpu="9"),
        pods(init_containers=(Container(requests={"cpu": "9"}),)),
        pods(pod_resources=Container(requests={"cpu": "9"})),
        pods(overhead={"cpu": "9"}),
        pods(claims=("gpu",)),
        pods(name="other"),
    ],
    ids=str,
)
def test_a_running_job_that_asks_for_something_else_is_stopped_and_queued_again(
    world: World, changed: Changes
) -> None:
    decided = world.turn(world.tell(only(world), **changed))
    assert names(decided) == ["WorkloadEvicted", "StopOrdered"]
    assert isinstance(decided[0], WorkloadEvicted)
    assert (decided[0].reason, bool(decided[0].message)) == ("NoMatchingWorkload", True)
    released = world.turn(*world.obey(only(world)))
    assert names(released)[:2] == ["QuotaReleased", "WorkloadRequeued"]
    [known] = world.bus.state.workloads.values()
    assert known.podsets == world.jobs[only(world)].podsets


def claiming(claimed: str, devices: int) -> Changes:
    return pods(claims=("gpus",), claimed=claimed, devices={"cpu": devices} if devices else {})


@pytest.mark.parametrize("runs", [True, False])
def test_templates_of_claims_that_ask_for_more_now_are_charged_anew(*, runs: bool) -> None:
    world = World().open()
    world.submit("a", 1, 0)
    world.turn(world.tell(only(world), **claiming("one", 1)))
    if runs:
        world.all_obey()
    assert names(world.turn(world.tell(only(world), **claiming("", 0)))) == []  # not there just now
    assert names(world.turn(world.tell(only(world), **claiming("one", 3)))) == []  # charged as more
    decided = world.turn(world.tell(only(world), **claiming("eight", 0)))
    assert names(decided)[:1] == ["WorkloadEvicted"]


@pytest.mark.parametrize(
    "changed", [pods(node_selector={"size": "big"}), pods(shape="other"), {"priority": 7}], ids=str
)
def test_what_quota_does_not_depend_on_may_change(world: World, changed: Changes) -> None:
    assert "WorkloadEvicted" not in names(world.turn(world.tell(only(world), **changed)))


def test_a_job_that_is_changed_back_before_it_was_stopped_is_charged_as_it_was(
    world: World,
) -> None:
    observed = [
        world.tell(only(world), **pods(count=12)),
        world.tell(only(world), **pods()),
    ]
    assert world.turn(*observed) == []


@pytest.mark.parametrize(
    ("changed", "stopped"),
    [(pods(cpu="9"), True), ({"ungated": True}, True), (pods(count=3), False)],
    ids=["asks for more", "lost its gate", "grows"],
)
def test_an_elastic_job_is_stopped_that_runs_past_its_gates_or_asks_for_more_each(
    *, changed: Changes, stopped: bool
) -> None:
    """A user who may edit a suspended Job may remove the gate of its template, and unsuspend it."""
    world = World().open()
    world.submit("a", 1, 0)
    world.turn(world.tell(only(world), elastic=True))
    world.all_obey()
    decided = world.turn(world.tell(only(world), **changed))
    assert ("WorkloadEvicted" in names(decided)) is stopped
    assert ("StopOrdered" in names(decided)) is stopped


def test_a_job_that_starts_again_after_its_stop_is_stopped_at_once_each_time() -> None:
    world = World().open()
    world.turn(world.submit("a", 99, 0))
    for _ in range(6):
        world.turn(world.wait(1))
        decided = world.turn(world.disobey(only(world)))
        assert names(decided)[-1] == "StopOrdered"
        world.turn(*world.obey(only(world)))


FORGED = [f"{LEDGER}/{number}" for number in (10**6, 10**18)]


@pytest.mark.parametrize("decision", FORGED)
def test_a_forged_decision_is_reported_and_undone(world: World, decision: str) -> None:
    state = replace(world.jobs[only(world)].state, decision=decision)
    world.turn(world.tell(only(world), state=state))
    assert "ActuationFailed" in [entry.type for entry in world.entries]
    assert names(world.turn(world.wait(10))) == ["OrderReissued", "StartOrdered"]


@pytest.mark.parametrize("decision", [*FORGED, f"{LEDGER}/1"])
def test_a_forged_decision_proves_no_stop(world: World, decision: str) -> None:
    world.stops["a"] = "HoldAndDrain"
    world.turn(world.queue("a"))
    idle = observations.JobState(decision=decision)
    assert "QuotaReleased" not in names(world.turn(world.tell(only(world), state=idle)))
    [known] = world.bus.state.workloads.values()
    assert known.phase == "evicting"


def refused(world: World, name: str, state: observations.JobState) -> observations.ObjectRefused:
    """Return that a job cannot be read any more, and how it stands."""
    known = world.tell(name, state=state)
    observation = replace(known, queue="", podsets=(), stray="Unreadable", message="nonsense")
    return observations.ObjectRefused(
        namespace=known.namespace,
        name=name,
        uid=known.uid,
        version=known.version,
        session="a",
        resource=JOBS,
        error="nonsense",
        job=observation,
    )


def test_an_unreadable_running_job_is_stopped_and_forgotten(world: World) -> None:
    name = only(world)
    decided = world.turn(refused(world, name, world.jobs[name].state))
    assert names(decided) == ["WorkloadEvicted", "StopOrdered"]
    stop = world.orders[name].seq
    gone = observations.JobState(decision=f"{LEDGER}/{stop}")
    world.turn(refused(world, name, gone))
    assert (world.bus.state.workloads, world.bus.state.strays) == ({}, {})


def test_an_unreadable_job_gives_its_quota_back_once_it_is_over(world: World) -> None:
    name = only(world)
    observation = refused(world, name, world.jobs[name].state)
    assert observation.job is not None
    over = replace(observation, job=replace(observation.job, stray=None, finished="Succeeded"))
    assert "StopOrdered" not in names(world.turn(over))
    assert [entry.type for entry in world.entries][-1] == "WorkloadFinished"


@pytest.mark.parametrize("known", [True, False])
def test_an_unreadable_job_is_stopped_whenever_it_runs(*, known: bool) -> None:
    world = World().open()
    submitted = world.submit("a", 99, 0)
    if known:
        world.turn(submitted)
    for round_of in range(3):
        [stop] = world.turn(refused(world, only(world), RUNS))
        assert isinstance(stop, StopOrdered)
        assert (stop.reason, stop.job.name) == ("Unreadable", only(world)), round_of
        marked = observations.JobState(decision=f"{LEDGER}/{world.orders[only(world)].seq}")
        assert world.turn(refused(world, only(world), marked)) == []


def test_a_stop_that_does_not_arrive_is_repeated_ever_more_rarely() -> None:
    world = World().open()
    world.submit("a", 1, 0)
    world.turn(refused(world, only(world), RUNS))
    waits = []
    for _ in range(4):
        waited = 1
        while not world.turn(world.wait(1)):
            waited += 1
        waits.append(waited)
    assert waits == [10, 20, 40, 80]


def astray(
    world: World, why: observations.Stray, state: observations.JobState
) -> observations.JobObserved:
    """Return the observation of a job whose owner is managed, and waits as far as is known."""
    name = only(world)
    return replace(world.tell(name, state=state), queue="", podsets=(), stray=why)


def test_the_child_of_a_job_that_waits_is_stopped_at_once() -> None:
    world = World().open()
    world.submit("a", 1, 0)
    [stop] = world.turn(astray(world, "OwnerWaits", RUNS))
    assert (type_name(stop), world.bus.state.workloads) == ("StopOrdered", {})


def test_an_owner_that_another_watch_tells_of_has_a_moment_to_be_seen() -> None:
    world = World().open()
    world.submit("a", 1, 0)
    assert world.turn(astray(world, "OwnerMayWait", RUNS)) == []
    assert world.turn(world.wait(9)) == []
    assert names(world.turn(world.wait(1))) == ["StopOrdered"]
    world.turn(astray(world, "OwnerMayWait", observations.JobState()))
    assert names(world.turn(astray(world, "OwnerMayWait", RUNS))) == ["StopOrdered"]


@pytest.mark.parametrize("end", ["may run", "gone", "not listed"])
def test_what_may_run_again_or_is_gone_is_forgotten(end: str) -> None:
    world = World().open()
    world.submit("a", 1, 0)
    world.turn(astray(world, "OwnerWaits", RUNS))
    assert len(world.bus.state.strays) == 1
    if end == "may run":
        world.turn(replace(world.tell(only(world)), queue="", podsets=()))
    elif end == "gone":
        world.turn(world.delete(only(world)))
    else:
        world.turn(started(number=2), completed(world.version + 1, number=2))
    assert world.bus.state.strays == {}


def test_what_must_not_run_survives_a_snapshot() -> None:
    world = World().open()
    world.submit("a", 1, 0)
    world.turn(astray(world, "OwnerWaits", RUNS))
    kept = snapshot.encode(world.bus.state)
    world.bus.state = snapshot.decode(kept)
    assert snapshot.encode(world.bus.state) == kept
    assert names(world.turn(world.wait(10))) == ["StopOrdered"]
