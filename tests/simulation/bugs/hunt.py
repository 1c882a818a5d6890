"""Look for the first seed that finds a bug."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.simulation.bugs.swapping import Bug
from tests.simulation.judge import judge
from tidegate.errors import TidegateError


class Found(NamedTuple):
    """A seed whose world does not hold with the bug in it."""

    seed: int
    why: str


def hunt(bug: Bug, seeds: Iterable[int]) -> Found | None:
    """Put a bug in, live through one world after another, and return the first that shows it."""
    for seed in seeds:
        with bug():
            try:
                judge(seed)
            except (AssertionError, TidegateError, BaseExceptionGroup) as error:
                return Found(seed, _why(error))
    return None


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error).splitlines() or [type(error).__name__])[0]
