"""Which notices a receiver's rules ask for."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tests.notify.events import (
    MINUTE_US,
    admitted,
    finished,
    heard,
    pending,
    preempted,
    requeued,
    submitted,
)
from tidegate.contracts.decision_kinds.queues import BudgetReached
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent
from tidegate.notify.configuration import Rule, When
from tidegate.notify.rules import Rules, Wait

LIFE = [
    submitted("a/one"),
    pending("a/one", "team-a"),
    admitted("a/one", "team-a", 2),
    *preempted("a/one", "team-a", 3),
    requeued("a/one", "team-a", 4),
    admitted("a/one", "team-a", 5),
    finished("a/one", 9),
]


def notices(rule: Rule, *events: FactEvent | DecisionEvent) -> list[tuple[str, int]]:
    rules = Rules((rule,))
    return [
        (notice.type, notice.seq)
        for ledger_event in heard(*events)
        for notice in rules.record_event(ledger_event)
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(when=(When.ADMITTED,)), [("Admitted", 3), ("Admitted", 7)]),
        (Rule(when=(When.PREEMPTED, When.FINISHED)), [("Preempted", 4), ("Finished", 8)]),
        (Rule(when=(When.EVICTED,)), [("Evicted", 5)]),
        (Rule(when=(When.ADMITTED,), namespaces=("b",)), []),
        (Rule(when=(When.ADMITTED,), namespaces=("b", "a")), [("Admitted", 3), ("Admitted", 7)]),
        (Rule(when=(When.ADMITTED,), cluster_queues=("team-b",)), []),
        (Rule(when=(When.DEACTIVATED,)), []),
    ],
)
def test_a_rule_asks_for(rule: Rule, expected: list[tuple[str, int]]) -> None:
    assert notices(rule, *LIFE) == expected


def test_an_event_that_two_rules_ask_for_is_one_notice() -> None:
    rules = Rules((Rule(when=(When.ADMITTED,)), Rule(when=(When.ADMITTED,), namespaces=("a",))))
    actual_notices = [
        notice for ledger_event in heard(*LIFE[:3]) for notice in rules.record_event(ledger_event)
    ]
    assert [notice.key for notice in actual_notices] == ["local/3/" + 16 * "0"]


def wait(
    *events: FactEvent | DecisionEvent,
    minute: int,
    namespaces: tuple[str, ...] = (),
    queues: tuple[str, ...] = (),
) -> list[int]:
    rule = Rule(waiting_longer_than="30m", namespaces=namespaces, cluster_queues=queues)
    rules = Rules((rule,))
    assert [
        notice for ledger_event in heard(*events) for notice in rules.record_event(ledger_event)
    ] == []
    return [notice.seq for notice in rules.due_notices(minute * MINUTE_US)]


def test_a_wait_is_noticed_when_it_is_too_long() -> None:
    assert wait(submitted("a/one"), minute=29) == []
    assert wait(submitted("a/one"), minute=30) == [1]


@pytest.mark.parametrize("end", [admitted("a/one", "q", 1), finished("a/one", 1)])
def test_a_wait_that_ended_is_not_noticed(end: DecisionEvent | FactEvent) -> None:
    assert wait(submitted("a/one"), end, minute=90) == []


def test_a_workload_that_was_preempted_waits_from_its_requeueing() -> None:
    assert wait(*LIFE[:6], minute=33) == []
    assert wait(*LIFE[:6], minute=34) == [6]


def test_a_wait_is_narrowed_by_namespace_and_by_the_queue_that_it_waits_in() -> None:
    events = submitted("a/one"), pending("a/one", "team-a")
    assert wait(*events, minute=30, namespaces=("b",)) == []
    assert wait(*events, minute=30, queues=("team-b",)) == []
    assert wait(*events, minute=30, queues=("team-a",), namespaces=("a",)) == [1]


def test_each_limit_is_noticed_once() -> None:
    rules = Rules((Rule(waiting_longer_than="10m"), Rule(waiting_longer_than="1h")))
    for ledger_event in heard(submitted("a/one")):
        assert list(rules.record_event(ledger_event)) == []
    assert rules.next_us() == 10 * MINUTE_US
    assert [n.text for n in rules.due_notices(10 * MINUTE_US)] == ["a/one has waited for 10m."]
    assert list(rules.due_notices(20 * MINUTE_US)) == []
    assert rules.next_us() == 60 * MINUTE_US
    assert [n.text for n in rules.due_notices(60 * MINUTE_US)] == ["a/one has waited for 1h."]
    assert rules.next_us() is None


def test_nothing_is_kept_of_waits_that_no_rule_asks_for() -> None:
    rules = Rules((Rule(when=(When.ADMITTED,)), Rule(waiting_longer_than="1h", namespaces=("b",))))
    for ledger_event in heard(submitted("a/one"), submitted("b/two")):
        list(rules.record_event(ledger_event))
    assert list(rules.waiting) == ["b/two"]


def reached(percent: int, queue: str = "", cohort: str = "") -> BudgetReached:
    return BudgetReached(
        at_us=MINUTE_US,
        cluster_queue=queue,
        cohort=cohort,
        resource="cpu",
        percent=percent,
        hours=10_000,
        spent=percent * 100,
        until_us=MINUTE_US,
        hard=True,
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(budget_at=(80,)), [1, 3]),
        (Rule(budget_at=(80, 100)), [1, 2, 3]),
        (Rule(budget_at=(80,), cluster_queues=("a",)), [1]),
        (Rule(budget_at=(100,), cluster_queues=("b",)), []),
        (Rule(when=(When.ADMITTED,)), []),
    ],
)
def test_a_budget_is_noticed_at_what_a_rule_says(rule: Rule, expected: list[int]) -> None:
    events = reached(80, "a"), reached(100, "a"), reached(80, cohort="all")
    assert notices(rule, *events) == [("BudgetReached", seq) for seq in expected]
    (first,) = Rules((Rule(budget_at=(80,)),)).record_event(next(iter(heard(reached(80, "a")))))
    assert first.text.startswith(
        "80 % of the budget of ClusterQueue a are spent: 8 of 10 cpu hours"
    )


def test_the_next_limit_is_known_without_a_look_at_all_that_waits() -> None:
    class Waits(dict[str, Wait]):
        def items(self) -> NoReturn:
            raise AssertionError("all were looked at")

    waits = Waits({f"a/{n}": Wait(seq=n, since_us=n, key="k") for n in range(1, 2_000)})
    rules = Rules((Rule(waiting_longer_than="10m"),), waits)
    del waits["a/1"]
    assert rules.next_us() == 10 * MINUTE_US + 2
    assert [notice.workload for notice in rules.due_notices(10 * MINUTE_US + 3)] == ["a/2", "a/3"]
    assert rules.next_us() == 10 * MINUTE_US + 4
