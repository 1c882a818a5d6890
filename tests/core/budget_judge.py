"""What is spent of budgets, counted the slow way: after each event of a ledger, from all holders.

Fractions and the standard library's calendar, where the core has integers and a meter that folds
move: they share no line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from tidegate.contracts.codec import decode
from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event, TimePassed
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.quota import Budget

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR_US = 3_600_000_000
Key = tuple[str, str]
"""Owner, as ``ClusterQueue/a``, and resource."""


def ends(period: str, at_us: int) -> int:
    """Return when the period of a time ends."""
    day = (EPOCH + timedelta(microseconds=at_us)).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        end = day + timedelta(days=1)
    elif period == "week":
        end = day + timedelta(days=7 - day.weekday())
    else:
        end = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    return (end - EPOCH) // timedelta(microseconds=1)


@dataclass
class Line:
    """One budget, what is spent of it in this period, and what was reported of that."""

    budget: Budget
    until_us: int
    spent: Fraction = Fraction(0)  # base units times hours
    warned: int = 0
    before: Fraction | None = None  # what was spent in a period that ended and was not told


@dataclass
class Judge:
    """Every budget of a ledger."""

    state: State = field(default_factory=State)
    lines: dict[Key, Line] = field(default_factory=dict)
    heard: list[BudgetReached | BudgetRenewed] = field(default_factory=list)

    def follow(self, entries: Iterable[Entry]) -> Judge:
        """Count what each entry makes of it, and hold each decision about a budget to that."""
        for entry in entries:
            event = decode(entry.payload)
            self._pass(max(event.at_us, self.state.now_us))
            if isinstance(event, BudgetReached | BudgetRenewed):
                self._hear(event)
            apply(self.state, event)
            self._define(event)
        return self

    def overdue(self) -> list[Key]:
        """Return the budgets of which something should have been told by now."""
        return [
            key
            for key, line in self.lines.items()
            if line.before is not None
            or any(
                line.spent * 100 >= line.budget.hours * percent > line.budget.hours * line.warned
                for percent in (80, 100)
            )
        ]

    def _pass(self, now_us: int) -> None:
        was_us = self.state.now_us
        for key, line in self.lines.items():
            rate = self._rate(key)
            while was_us < now_us and line.until_us <= now_us:
                line.spent += Fraction(rate * max(0, line.until_us - was_us), HOUR_US)
                if line.before is None:
                    line.before = line.spent
                was_us, line.spent = max(was_us, line.until_us), Fraction(0)
                line.until_us = ends(line.budget.period, line.until_us)
            line.spent += Fraction(rate * (now_us - was_us), HOUR_US)
            was_us = self.state.now_us

    def _rate(self, key: Key) -> int:
        kind, _, name = key[0].partition("/")
        return sum(
            units
            for workload in self.state.workloads.values()
            if workload.phase in {"reserved", "admitted", "evicting"}
            and (
                workload.cluster_queue == name
                if kind == "ClusterQueue"
                else self._under(workload.cluster_queue, name)
            )
            for fr, units in workload.charges
            if fr.resource == key[1]
        )

    def _under(self, queue: str, cohort: str) -> bool:
        defined = self.state.objects.charged_queue(queue)
        name = "" if defined is None else defined.spec.cohort
        for _ in range(10):
            if not name or name == cohort:
                return bool(name)
            above = self.state.objects.cohorts.get(name)
            name = "" if above is None else above.spec.parent
        return False

    def _define(self, event: Event) -> None:
        del event
        objects, now_us = self.state.objects, self.state.now_us
        wanted = {
            (f"{kind}/{name}", budget.resource): budget
            for kind, defined in (
                ("ClusterQueue", objects.cluster_queues),
                ("Cohort", objects.cohorts),
            )
            for name, event in defined.items()
            for budget in event.spec.budgets
        }
        for key in [line for line in self.lines if line not in wanted]:
            del self.lines[key]
        for key, budget in wanted.items():
            line = self.lines.get(key)
            if line is None or line.budget.period != budget.period:
                self.lines[key] = Line(budget, ends(budget.period, now_us))
            elif line.budget != budget:
                line.budget, line.warned = budget, 0

    def _hear(self, event: BudgetReached | BudgetRenewed) -> None:
        owner = (
            f"ClusterQueue/{event.cluster_queue}"
            if event.cluster_queue
            else f"Cohort/{event.cohort}"
        )
        line = self.lines[owner, event.resource]
        assert event.until_us == line.until_us
        self.heard.append(event)
        if isinstance(event, BudgetRenewed):
            assert line.before is not None
            assert event.spent == int(line.before)
            line.before, line.warned = None, 0
        else:
            assert line.before is None
            assert event.spent == int(line.spent)
            assert event.percent > line.warned
            assert line.spent * 100 >= line.budget.hours * event.percent
            line.warned = event.percent


__all__ = ["Judge", "TimePassed", "ends"]
