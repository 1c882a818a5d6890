"""Budgets: what is spent is what was held, times its hours; a hard one that is spent stops all new.

The slow way to count is ``tests.core.budget_judge``.
"""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from tests.core.budget_judge import Judge, ends
from tests.core.telling import BEGIN, SECOND
from tests.replay.world import QUEUES, World
from tidegate.contracts import observations
from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.contracts.decisions import (
    ClusterQueueReadinessChanged,
    DecisionEvent,
    QuotaReserved,
    StopOrdered,
    WorkloadAdmitted,
    WorkloadPending,
)
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.budgets import advance_meter
from tidegate.core.state.state import State
from tidegate.model.calendar import PERIODS, Period, period_span, utc_text
from tidegate.model.quota import Budget, CohortSpec
from tidegate.replay.verify import audit_ledger

HOUR = 3_600
DAY = 24 * HOUR


def hours(cores: int, *, hard: bool = True, period: Period = "day") -> Budget:
    return Budget(resource="cpu", hours=cores * 1_000, period=period, hard=hard)


def budgeted(world: World, name: str, *budgets: Budget) -> observations.Observation:
    queue = world.queue(name)
    assert isinstance(queue, observations.ClusterQueueObserved)
    return replace(queue, spec=replace(queue.spec, budgets=budgets))


def pooled(world: World, *budgets: Budget) -> observations.Observation:
    world.version += 1
    return observations.CohortObserved(
        name="all", uid="all", version=world.version, session="a", spec=CohortSpec(budgets=budgets)
    )


def running(world: World, queue: str, cpus: int) -> list[DecisionEvent]:
    decisions = world.turn(world.submit(queue, cpus, 0))
    world.all_obey()
    return decisions


def of_kind(decided: list[DecisionEvent], kind: type) -> list[DecisionEvent]:
    return [decision for decision in decided if isinstance(decision, kind)]


def spent(state: State, owner: str) -> int:
    return advance_meter(state.budgets[owner]["cpu"], state.now_us).hours


@pytest.fixture
def world() -> World:
    return World().open()


def test_a_soft_budget_warns_at_80_and_at_100_and_stops_no_workload(world: World) -> None:
    world.turn(budgeted(world, "c", hours(10, hard=False)))
    running(world, "c", 2)
    assert of_kind(world.turn(world.wait(4 * HOUR - 1)), BudgetReached) == []
    (first,) = of_kind(world.turn(world.wait(1)), BudgetReached)
    assert isinstance(first, BudgetReached)
    assert (first.percent, first.spent, first.hours, first.hard) == (80, 8_000, 10_000, False)
    (second,) = of_kind(world.turn(world.wait(HOUR)), BudgetReached)
    assert isinstance(second, BudgetReached)
    assert (second.percent, second.cluster_queue, second.cohort) == (100, "c", "")
    assert of_kind(running(world, "c", 1), QuotaReserved)


def test_a_hard_budget_that_is_spent_keeps_new_workloads_waiting_until_its_period_ends(
    world: World,
) -> None:
    world.turn(budgeted(world, "c", hours(4)))
    running(world, "c", 2)
    decided = world.turn(world.wait(2 * HOUR))
    (changed,) = of_kind(decided, ClusterQueueReadinessChanged)
    assert isinstance(changed, ClusterQueueReadinessChanged)
    until = "1970-01-02T00:00:00Z"
    text = f"udget of ClusterQueue c for cpu is spent until {until}"
    assert (changed.active, changed.reason, text in changed.message) == (
        False, "BudgetExhausted", True,
    )  # fmt: skip
    assert of_kind(decided, StopOrdered) == []  # what runs goes on
    decided = running(world, "c", 1)
    assert of_kind(decided, QuotaReserved) == []
    (held,) = of_kind(decided, WorkloadPending)
    assert isinstance(held, WorkloadPending)
    assert (held.reason, until in held.message) == ("BudgetExhausted", True)
    left = ends("day", world.bus.at_us) - world.bus.at_us
    assert of_kind(world.turn(world.wait(left // SECOND - 1)), WorkloadAdmitted) == []
    decided = world.turn(world.wait(1))
    (renewed,) = of_kind(decided, BudgetRenewed)
    assert isinstance(renewed, BudgetRenewed)
    assert renewed.spent == (DAY - 1_000) * 2_000 // HOUR
    assert (renewed.since_us, renewed.until_us) == (BEGIN, 2 * DAY * SECOND)
    assert len(of_kind(decided, WorkloadAdmitted)) == 1


def test_a_cohorts_budget_is_spent_by_all_below_it(world: World) -> None:
    world.turn(pooled(world, hours(6)))
    running(world, "a", 1)
    running(world, "b", 2)
    running(world, "c", 4)  # in no cohort
    decided = world.turn(world.wait(2 * HOUR))
    (reached,) = of_kind(decided, BudgetReached)
    assert isinstance(reached, BudgetReached)
    assert (reached.cohort, reached.cluster_queue, reached.spent) == ("all", "", 6_000)
    names = {
        getattr(decision, "cluster_queue", "")
        for decision in of_kind(decided, ClusterQueueReadinessChanged)
    }
    assert names == {"a", "b"}
    assert of_kind(running(world, "a", 1), QuotaReserved) == []
    assert of_kind(running(world, "c", 1), QuotaReserved)


def test_a_budget_that_is_raised_lets_them_in_at_once(world: World) -> None:
    world.turn(budgeted(world, "c", hours(4)))
    running(world, "c", 2)
    world.turn(world.wait(2 * HOUR))
    assert of_kind(running(world, "c", 1), QuotaReserved) == []
    assert of_kind(world.turn(budgeted(world, "c", hours(40))), QuotaReserved)
    assert spent(world.bus.state, "ClusterQueue/c") == 4_000
    world.turn(world.wait(HOUR))
    assert spent(world.bus.state, "ClusterQueue/c") == 7_000
    decided = world.turn(budgeted(world, "c", hours(7)))
    assert [decision.percent for decision in decided if isinstance(decision, BudgetReached)] == [
        100
    ]
    world.turn(budgeted(world, "c"))
    assert "ClusterQueue/c" not in world.bus.state.budgets


def test_a_budget_of_zero_admits_no_workload(world: World) -> None:
    world.turn(budgeted(world, "c", hours(0)))
    assert of_kind(running(world, "c", 1), QuotaReserved) == []


@pytest.mark.parametrize("seed", range(8))
def test_what_is_counted_is_what_the_raw_events_give(seed: int) -> None:
    world, judge, known = World().open(), Judge(), 0
    rng = Random(f"{seed}/budgets")
    for _ in range(60):
        world.turn(*acted(world, rng))
        for name in sorted(world.jobs):
            if rng.random() < 0.8:
                world.turn(*world.obey(name))
        world.turn(world.wait(rng.choice((1, 60, HOUR, 7 * HOUR, 2 * DAY, 9 * DAY))))
        judge.follow(world.entries[known:])
        known = len(world.entries)
        assert judge.overdue() == []
        meters = world.bus.state.budgets
        assert {(owner, name) for owner, mapping in meters.items() for name in mapping} == set(
            judge.lines
        )
        for (owner, resource), line in judge.lines.items():
            meter = advance_meter(meters[owner][resource], world.bus.state.now_us)
            assert (meter.hours, meter.reported_percent, meter.until_us) == (
                int(line.spent), line.warned, line.until_us,
            )  # fmt: skip
        if rng.random() < 0.3:
            world.bus.state = decode(encode(world.bus.state))
    assert judge.heard
    assert audit_ledger(iter(world.entries)).decisions > 0


def acted(world: World, rng: Random) -> list[observations.Observation]:
    """Return what happens next: mostly jobs that come and go, at times another budget or quota."""
    if (what := rng.random()) < 0.5 or not world.jobs:
        return [world.submit(rng.choice(QUEUES), rng.randint(1, 3), rng.randint(0, 2))]
    if what < 0.75:
        return [world.finish(rng.choice(sorted(world.jobs)))]
    several = (
        hours(rng.choice((3, 20, 90)), hard=rng.random() < 0.6, period=rng.choice(PERIODS)),
    )[: rng.randint(0, 3)]
    if what < 0.85:
        return [pooled(world, *several)]
    world.quotas["a"] = rng.randint(2, 6)
    return [budgeted(world, rng.choice(QUEUES), *several)]


@pytest.mark.parametrize("period", PERIODS)
def test_periods_are_those_of_the_calendar(period: Period) -> None:
    rng = Random(period)
    for _ in range(500):
        at_us = rng.randrange(0, 4_102_444_800_000_000)  # until 2100
        begin_us, end_us = period_span(period, at_us)
        assert begin_us <= at_us < end_us == ends(period, at_us) == ends(period, begin_us)
        assert ends(period, begin_us - 1) == begin_us
    assert utc_text(ends("month", 951_782_400_000_000)) == "2000-03-01T00:00:00Z"
