"""How long to wait between tries: growing, bounded, and jittered from an injected source."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


def backoff_delays(random: Random, first_s: float = 0.1, most_s: float = 10.0) -> Iterator[float]:
    """Yield waits without end: each up to twice the last, at least half of its bound.

    The jitter keeps a crowd that lost its server from coming back at one instant.
    """
    assert 0 < first_s <= most_s
    bound = first_s
    while True:
        yield bound * (0.5 + random.random() / 2)
        bound = min(2 * bound, most_s)
