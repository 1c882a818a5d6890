"""Lists in pages: what a first page left over, as it was at that list's version.

A real server reads the rest at the version in the token; here it is kept, the newest lists only:
a token that was forgotten is answered 410, as on a real server whose history was compacted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from apiserver.refusals import expired

LISTS_MAX = 64
"""How many unfinished lists are remembered."""


class Page(msgspec.Struct, frozen=True):
    """A part of a list."""

    revision: int  # of the whole list
    bodies: Sequence[bytes]
    token: str = ""  # asks for the rest; empty: there is none
    left: int = 0  # how many objects that is


class ListPages:
    """The rest of each list that was begun."""

    def __init__(self) -> None:
        self._rests = dict[str, tuple[int, Sequence[bytes]]]()
        self._made = 0

    def first_page(self, revision: int, bodies: Sequence[bytes], limit: int) -> Page:
        """Return the first ``limit`` objects (0: all), and keep the rest under a token."""
        if not 0 < limit < len(bodies):
            return Page(revision, bodies)
        self._made += 1
        token, rest = str(self._made), bodies[limit:]
        self._rests[token] = revision, rest
        if len(self._rests) > LISTS_MAX:
            del self._rests[next(iter(self._rests))]
        return Page(revision, bodies[:limit], token, len(rest))

    def next_page(self, token: str, limit: int, now: int) -> Page:
        """Return the next objects of a list.

        Raises:
            RefusedError: 410, it was forgotten.
        """
        if token not in self._rests:
            raise expired(0, now)
        revision, bodies = self._rests[token]
        return self.first_page(revision, bodies, limit)

    def clear(self) -> None:
        """Forget every list, as a compaction does."""
        self._rests.clear()
