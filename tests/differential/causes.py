"""Which of Tidegate's own rules a recorded case differs by: measured, by leaving each out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeVar

from tests.differential.without import PARTS

SeenT = TypeVar("SeenT")


def causes(
    play: Callable[[tuple[str, ...]], SeenT], usual: SeenT, wanted: SeenT
) -> tuple[str, ...]:
    """Return the rules without which a case goes as wanted, or else those without which it changes.

    ``play`` returns how it goes with these rules left out. Two together are tried where neither
    alone does anything. Empty: none changes anything.
    """
    changing = list[str]()
    for rules in [*combinations(PARTS, 1), *combinations(PARTS, 2)]:
        if changing and len(rules) > 1:
            break
        sighting = play(rules)
        if sighting == wanted:
            return rules
        if sighting != usual:
            changing += rules
    return tuple(dict.fromkeys(changing))
