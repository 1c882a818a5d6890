"""Trees move to and fro while jobs run and wait: nothing stops, and nothing is given away twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.partitions.moving import ROOTS, MovingWorld
from tests.core.partitions.world import QUEUES, TREES, Partition
from tests.core.telling import JOBS
from tests.parts.drawn import drawn
from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.contracts.fact_kinds.handovers import HandoverConfirmed
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.contracts.observations import ClusterQueueObserved
from tidegate.core.accepting import handovers, rounds
from tidegate.core.state.budgets import advance_meter
from tidegate.model.calendar import HOUR_US
from tidegate.model.quota import Budget

MOVED = sorted(set(ROOTS.values()))


def world(seed: int = 1, *, lost: float = 0.0, count: int = 2) -> MovingWorld:
    names = ("first", "second", "third")[:count]
    made = MovingWorld(seed, [Partition(n, name) for n, name in enumerate(names)], lost=lost)
    made.begin()
    return made


def owners(made: MovingWorld) -> dict[str, list[int]]:
    """Return which partitions have each ClusterQueue."""
    return {
        name: [p.number for p in made.partitions if name in p.bus.state.objects.cluster_queues]
        for name in TREES
    }


def test_a_job_that_runs_is_charged_by_the_other_as_it_was() -> None:
    made = world()
    first, second = made.partitions
    for number in range(3):
        made.submit(f"job-{number}", "c", 2)
    before = {w.key: w.assignment for w in first.bus.state.workloads.values() if w.assignment}
    made.move("c", 1)
    for _ in range(3):
        made.pass_time()
        made.check()
    assert owners(made)["c"] == [1]
    adopted = [event for event in second.events if isinstance(event, WorkloadAdopted)]
    assert {event.workload: event.assignment for event in adopted} == before
    assert {flavor for a in before.values() for flavor in a[0].flavors.values()} == {
        "default",
        "spot",
    }
    assert any(isinstance(event, HandoverConfirmed) for event in first.events)


def test_a_tree_moves_as_a_whole_or_not_at_all() -> None:
    made = world()
    made.asked["a"] = 1
    made.define("a0", made.nominal["a0"])  # neither its cohort nor a1 asks for it
    for _ in range(3):
        made.pass_time()
    assert owners(made)["a0"] == [0]
    made.submit("goes-on", "a0", 1)
    assert len(made.running()) == 1
    made.move("a", 1)
    for _ in range(3):
        made.pass_time()
    assert (owners(made)["a0"], owners(made)["a1"]) == ([1], [1])


def test_a_tree_whose_move_is_called_off_stays() -> None:
    made = world()
    made.asked["a"] = 1
    made.define("a0", made.nominal["a0"])
    made.move("a", 0)
    for _ in range(3):
        made.pass_time()
    assert owners(made)["a0"] == [0]
    assert not made.partitions[0].bus.state.moves.asked


def test_until_it_is_taken_no_service_starts_anything_in_it() -> None:
    made = world(lost=1.0)
    made.move("c", 1)
    made.pass_time()
    made.submit("waits", "c", 1)
    made.pass_time()
    assert (owners(made)["c"], made.running()) == ([], [])
    made.lost = 0.0
    for _ in range(3):
        made.pass_time()
    assert owners(made)["c"] == [1]
    assert len(made.running()) == 1


def test_a_tree_stays_while_an_order_for_one_of_its_jobs_is_not_carried_out() -> None:
    """The other partition would list the job as it was, and give its quota away a second time."""
    made = world()
    made.delayed = []
    made.submit("starts", "c", 1)
    made.move("c", 1)
    for _ in range(3):
        made.pass_time()
    assert (owners(made)["c"], made.running()) == ([0], [])
    made.catch_up()
    for _ in range(3):
        made.pass_time()
        made.check()
    assert owners(made)["c"] == [1]
    assert len(made.running()) == 1


def test_nothing_is_kept_of_a_tree_that_is_deleted_before_its_jobs_are_listed() -> None:
    made = world()
    made.submit("runs", "c", 1)
    made.move("c", 1)
    made.pass_time()
    moves = made.partitions[1].bus.state.moves
    assert (moves.taking, len(moves.to_adopt)) == ({"c": None}, 1)
    [queue] = [
        observation for observation in made.of(ClusterQueueObserved) if observation.name == "c"
    ]
    made.remove(queue, QUEUES)
    for _ in range(3):
        made.pass_time()
    assert (moves.taking, moves.to_adopt) == ({}, {})


def list_jobs(made: MovingWorld, *present: str) -> None:
    """Let a list of jobs name some and tell none of them: they were reported before."""
    made.rounds += 1
    made.tell_list(JOBS, [], *present)


def test_a_list_that_does_not_tell_a_job_that_runs_opens_no_tree() -> None:
    """It began before ingest heard that all is asked for; the job ran on uncharged, and stopped."""
    made = world()
    made.submit("runs", "c", 1)
    made.move("c", 1)
    made.pass_time()
    [job] = made.running()
    moves = made.partitions[1].bus.state.moves
    list_jobs(made, job.uid)
    assert (moves.taking, list(moves.to_adopt)) == ({"c": None}, [job.uid])
    for _ in range(3):
        made.pass_time()
    assert (moves.taking, moves.to_adopt) == ({}, {})
    stops = [e for p in made.partitions for e in p.decisions if isinstance(e, StopOrdered)]
    assert not stops


def test_a_job_that_no_list_tells_does_not_keep_a_tree_for_ever() -> None:
    made = world()
    made.submit("runs", "c", 1)
    made.move("c", 1)
    made.pass_time()
    [job] = made.running()
    moves = made.partitions[1].bus.state.moves
    for _ in range(rounds.INCOMPLETE_LISTS_MAX):
        list_jobs(made, job.uid)
        assert moves.taking
    list_jobs(made, job.uid)
    assert not moves.taking


def test_what_was_spent_of_a_budget_stays_spent() -> None:
    made = MovingWorld(1, [Partition(0, "first"), Partition(1, "second")])
    made.budgets = (Budget(resource="cpu", hours=1_000_000, period="month"),)
    made.begin()
    made.submit("runs", "c", 2)
    began_us = made.at_us
    for _ in range(60):
        made.pass_time()
    made.move("c", 1)
    for _ in range(60):
        made.pass_time()
    assert made.partitions[0].bus.state.budgets.get("ClusterQueue/c") is None
    state = made.partitions[1].bus.state
    meter = advance_meter(state.budgets["ClusterQueue/c"]["cpu"], state.now_us)
    spent = meter.hours * HOUR_US + meter.rest
    ran_us = state.now_us - began_us
    assert 0.95 * ran_us < spent / 2_000 < 1.05 * ran_us
    assert meter.since_us < began_us


def test_a_large_tree_comes_in_pieces_in_whatever_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handovers, "PIECE_BYTES", 1)
    made = world(lost=1.0)
    for number in range(5):
        made.submit(f"job-{number}", "b0", 1)
    running = {job.uid for job in made.running()}
    made.move("b", 1)
    made.pass_time()
    pieces = list(handovers.unconfirmed_releases(made.partitions[0].bus.state))
    assert len(pieces) == len(("b", "b0", "b1")) + len(running)
    for piece in [*pieces[3:], pieces[0], pieces[0], *pieces[:3]]:
        made.tell(piece)
    assert owners(made)["b1"] == [1]
    settle(made)
    assert {job.uid for job in made.running()} >= running


def live(made: MovingWorld, steps: int) -> None:
    """Let jobs come and end, trees move, and schedulers begin anew."""
    random = made.random
    for step in range(steps):
        match random.randrange(8):
            case 0 | 1 | 2:
                made.submit(f"job-{step}", random.choice([*TREES]), random.randint(1, 3))
            case 3 if made.running():
                made.remove(random.choice(made.running()), JOBS)
            case 4 | 5:
                made.move(random.choice(MOVED), random.randrange(len(made.partitions)))
            case 6 if random.random() < 0.5:
                made.crash(random.choice(made.partitions))
            case _:
                made.pass_time()
        made.check()


def settle(made: MovingWorld) -> None:
    """Let everything be told, and assert that each tree is where it asks to be, with its jobs."""
    made.lost = 0.0
    for _ in range(8):
        made.pass_time()
        made.check()
    wanted = {name: [made.asked.get(ROOTS[name], 0)] for name in TREES}
    assert owners(made) == wanted
    known = sorted(key for p in made.partitions for key in p.bus.state.workloads)
    assert known == sorted(job.workload for job in made.jobs())
    charged = {
        w.key for p in made.partitions for w in p.bus.state.workloads.values() if w.assignment
    }
    assert charged == {job.workload for job in made.running()}
    for partition in made.partitions:
        moves = partition.bus.state.moves
        assert (moves.asked, moves.released, moves.taking, moves.to_adopt) == ({}, {}, {}, {})


@drawn(60)
@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([2, 3]),
    lost=st.sampled_from([0.0, 0.3, 0.8]),
)
def test_trees_move_to_and_fro_and_nothing_is_lost(seed: int, count: int, lost: float) -> None:
    made = world(seed, count=count, lost=lost)
    live(made, 40)
    settle(made)


@pytest.mark.parametrize("seed", range(5))
def test_a_waiting_queue_starts_where_its_tree_has_come_to(seed: int) -> None:
    made = world(seed)
    for number in range(12):
        made.submit(f"job-{number}", "c", 2)
    made.move("c", 1)
    settle(made)
    for _ in range(12):
        for over in made.running():
            made.remove(over, JOBS)
        made.pass_time()
    started = [event for event in made.partitions[1].decisions if isinstance(event, StartOrdered)]
    assert started
    assert made.jobs() == []
