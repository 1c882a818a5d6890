"""Objections by rule: which promise was broken, and how."""

from __future__ import annotations

from typing import Literal

Rule = Literal[
    "quota",  # more runs, or is charged, than there is
    "admission",  # a pod runs for a job without quota
    "once",  # an order is applied twice, out of turn, to another job, or was never given
    "past",  # something older is taken up after something newer
    "ledger",  # rows, chain, state and decisions do not agree
    "events",  # a subscriber missed an entry, or saw one twice or out of order
    "loss",  # something is missed that was not lost
    "repair",  # something had to be done again though nothing failed
    "stuck",  # a workload waits for what cannot happen
    "late",  # something differs for too long
    "rest",  # the world does not come to rest
]


class BrokenRuleError(AssertionError):
    """A promise that does not hold in some world."""

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


OBJECTIONS: list[BrokenRuleError] = []
"""Of the world that lives now."""


def demand(holds: object, rule: Rule, text: str) -> None:
    """Raise unless something holds.

    Raises:
        BrokenRuleError: it does not.
    """
    if not holds:
        broken = BrokenRuleError(rule, text)
        OBJECTIONS.append(broken)
        raise broken


def insist() -> None:
    """Raise the first objection again: a service that it met on its way may have got over it.

    Raises:
        BrokenRuleError: a judge objected in this world.
    """
    if OBJECTIONS:
        raise OBJECTIONS[0]


def first_of(error: BaseException) -> BaseException:
    """Return the first error of a group, however deep it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def rule_of(error: BaseException) -> str:
    """Return the rule that an error names; else what kind of error it is."""
    first = first_of(error)
    if isinstance(first, BrokenRuleError):
        return first.rule
    return "assertion" if isinstance(first, AssertionError) else "crash"
