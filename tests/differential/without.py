"""The default mode with one of its own rules left out, to see what that rule alone does.

Only the list of differences is made with it: no rule can be switched off in the product.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from tidegate.core.cycle import cycle, process
from tidegate.core.flavors import fitting
from tidegate.core.nomination import nominate
from tidegate.core.preemption import bounds, candidates, fair, fair_candidates, trial


@dataclass(frozen=True)
class Part:
    """A function that a rule consists of, and what stands for it where the rule is left out."""

    module: ModuleType
    name: str
    instead: Callable[..., object]


def _no(*_: object, **__: object) -> bool:
    return False


def _yes(*_: object, **__: object) -> bool:
    return True


def _plenty(*_: object, **__: object) -> tuple[int, None]:
    return 10**18, None


class _Everybody:
    def __contains__(self, name: str) -> bool:
        return True


def _everybody(*_: object, **__: object) -> _Everybody:
    return _Everybody()


def _none(*_: object, **__: object) -> list[object]:
    return []


def _nothing(*_: object, **__: object) -> None:
    return None


OWNERS, DISPLACED, FLAVORS = "owners first", "preempted once", "any flavor"
RESOURCES, SHARES, GAPS = "all resources", "moved for good", "no gaps"
PARTS: dict[str, tuple[Part, ...]] = {
    OWNERS: (
        Part(process, "_yields_to_owners", _no),
        Part(cycle, "_local_heads", _none),
    ),
    DISPLACED: (
        Part(trial, "is_displaced", _no),
        Part(process, "is_displaced", _no),
        Part(bounds, "may_preempt_for_shares", _yes),
        Part(fair_candidates, "may_preempt_for_shares", _yes),
    ),
    SHARES: (
        Part(fair, "_moves_for_good", _no),
        Part(bounds, "_releasable_fair", _plenty),  # what is left out before the search is by it
        Part(fair_candidates, "candidate_queues", _everybody),
    ),
    GAPS: (Part(candidates, "leaves_quota_unused", _no),),
    FLAVORS: (Part(nominate, "assign_with_backtracking", _nothing),),
    RESOURCES: (Part(fitting, "_all_must_fit", _no),),
}
"""Rules that can be left out one by one, by the names of docs/differences.md."""


@contextmanager
def without(*rules: str) -> Generator[None, None, None]:
    """Leave rules out for a while."""
    parts = [part for rule in rules for part in PARTS[rule]]
    before = [(part, getattr(part.module, part.name)) for part in parts]
    for part in parts:
        setattr(part.module, part.name, part.instead)
    try:
        yield
    finally:
        for part, rightful in before:
            setattr(part.module, part.name, rightful)
