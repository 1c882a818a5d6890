"""Any history of a small cluster: folding it gives the live state, deciding again the same.

A scheduler may start again after any turn, and a turn may be cut off by its bound on decisions:
what is decided after that must not depend on it.
"""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tests.replay.world import QUEUES, World
from tidegate.contracts.observations import Observation
from tidegate.core.decide import decide
from tidegate.core.folding.snapshot import decode, encode
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.model.quota import StopPolicy
from tidegate.replay.rebuild import rebuild
from tidegate.replay.verify import audit_ledger

SNAPSHOTS = 14
"""A turn's number above this means a start from a snapshot, not from the whole ledger."""
STOPS: tuple[StopPolicy, ...] = ("None", "Hold", "HoldAndDrain")
Step = tuple[str, int, int, int]
SELDOM = ("finish", "delete", "wait", "quota", "stop", "hand", "ask", "rush", "rush")
WHAT = ("submit", "submit", "submit", "obey", "obey", *SELDOM)
numbers = st.integers(0, 9)
steps = st.tuples(st.sampled_from(WHAT), numbers, numbers, numbers)
turns = st.lists(st.lists(steps, min_size=1, max_size=4), max_size=14)
ours = st.sampled_from((Policy(), Policy(fair_sharing=DEFAULT_STRATEGIES)))
kueues = st.sampled_from(
    (
        Policy(compatibility="kueue"),
        Policy(compatibility="kueue", fair_sharing=DEFAULT_STRATEGIES),
    )
)
scopes = st.one_of(
    st.tuples(ours, st.sampled_from((1, 2, 3, 7, 1_000))),
    st.tuples(kueues, st.sampled_from((1, 3, 7))),  # Kueue's way may never come to rest
)


S, LARGE, OTHER = ("submit", 0, 0, 0), ("submit", 0, 3, 0), ("submit", 0, 1, 0)
MOVED: list[list[Step]] = [
    [S, S, S, LARGE],
    [OTHER, ("submit", 1, 7, 0)],
    [("delete", 0, 0, 0), ("obey", 0, 0, 0), ("ask", 0, 8, 0)],
]
"""A victim goes to a queue of another tree, and is let in by the preemptor's start."""


def observations(world: World, batch: list[Step]) -> list[Observation]:
    """Do what a batch of steps says; steps about a job that is not there do nothing."""
    observed: list[Observation] = []
    for what, which, much, more in batch:
        names = sorted(world.jobs)
        name = names[which % len(names)] if names else ""
        if what == "submit":
            observed.append(world.submit(QUEUES[which % 3], 1 + much % 5, more % 3))
        elif what == "rush":
            world.turn(*observed)
            observed = []
            world.rush(QUEUES[which % 3])
        elif what == "wait":
            observed.append(world.wait(1 + which * much))
        elif what in ("quota", "stop"):
            observed.append(queue(world, what, QUEUES[which % 3], much))
        elif name:
            observed += about(world, what, name, much)
    return observed


def queue(world: World, what: str, name: str, much: int) -> Observation:
    if what == "quota":
        world.quotas[name] = much
    else:
        world.stops[name] = STOPS[much % len(STOPS)]
    return world.queue(name)


def about(world: World, what: str, name: str, much: int) -> list[Observation]:
    if what == "obey":
        return list(world.obey(name))
    if what == "hand":
        return [world.disobey(name)]
    if what == "ask":
        return [world.ask(name, much)]
    runs = not world.jobs[name].state.suspended
    if what == "finish":
        return [world.finish(name)] if runs else []
    return [world.delete(name)]


@drawn(50)
@given(scopes, turns)
def test_folding_the_ledger_gives_the_live_draft(
    under: tuple[Policy, int], batches: list[list[Step]]
) -> None:
    policy, bound = under
    world = World(decisions_max=bound).open(policy)
    for batch in batches:
        world.turn(*observations(world, batch))
        rebuilt, _ = rebuild(world.entries)
        assert encode(rebuilt) == encode(world.bus.state)


@drawn(60)
@given(scopes, turns)
def test_deciding_again_gives_what_was_recorded(
    under: tuple[Policy, int], batches: list[list[Step]]
) -> None:
    policy, bound = under
    world = World(decisions_max=bound).open(policy)
    for batch in batches:
        world.turn(*observations(world, batch))
    world.settle()
    audit = audit_ledger(world.entries, decisions_max=bound)
    assert audit.head_seq == len(world.entries)


@drawn(60)
@given(scopes, turns, st.sets(st.integers(0, 13 + SNAPSHOTS)))
def test_a_scheduler_that_starts_again_decides_as_if_it_had_not(
    under: tuple[Policy, int], batches: list[list[Step]], starts: set[int]
) -> None:
    policy, bound = under
    world = World(decisions_max=bound).open(policy)
    for number, batch in enumerate(batches):
        world.turn(*observations(world, batch))
        if number in starts:
            world.bus.state, _ = rebuild(world.entries)
        if number + SNAPSHOTS in starts:
            world.bus.state = decode(encode(world.bus.state))
    world.settle()
    audit_ledger(world.entries, decisions_max=bound)


@drawn(50)
@given(ours, turns)
@example(Policy(), MOVED)
def test_a_turn_ends_settled_and_a_rebuilt_draft_is_settled_too(
    policy: Policy, batches: list[list[Step]]
) -> None:
    world = World().open(policy)
    for batch in batches:
        world.turn(*observations(world, batch))
        assert decide(world.bus.state) == []
        rebuilt, head = rebuild(world.entries)
        assert head == world.entries[-1]
        assert decide(rebuilt) == []


def test_a_gap_that_closes_by_time_alone_is_no_news_to_pending_workloads() -> None:
    world = World().open()
    world.turn(world.submit("c", 3, 0))
    world.all_obey()
    for _ in range(3):
        world.turn(world.wait(90), world.submit("c", 4, 5))
        world.all_obey()
        world.turn(world.wait(10), world.finish(max(world.jobs)))
        world.all_obey()
    world.quotas["c"], world.stops["c"] = 1, "HoldAndDrain"
    world.turn(world.wait(60), world.queue("c"))
    world.all_obey()
    world.stops["c"] = "None"
    world.turn(world.queue("c"))
    world.turn(world.wait(25), world.submit("a", 1, 0))  # near the next rush, in another tree
    world.bus.state, _ = rebuild(world.entries)
    assert world.turn() == []
