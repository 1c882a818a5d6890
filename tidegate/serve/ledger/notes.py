"""What stood around stories, remembered: it follows from events up to their last, for good."""

from __future__ import annotations

import time

from tidegate.cli.commands.decisions.why import Surroundings, surroundings
from tidegate.cli.ledger.reading import Reader
from tidegate.replay.story.why import Story
from tidegate.serve.auth.remembered import Remembered

REMEMBERED_MAX, FOR_EVER_S = 1_000, float("inf")
NOTES_MAX = 200
"""A story with more notes is folded anew each time: its owner may make it as long as they like."""


class Notes:
    """Folds the history around a story once, and again only when more has happened to it."""

    def __init__(self) -> None:
        self._found = Remembered[tuple[str, int, bool], Surroundings](
            FOR_EVER_S, REMEMBERED_MAX, time.monotonic
        )

    def around(self, reader: Reader, story: Story, *, whole: bool) -> Surroundings:
        """See ``tidegate.cli.commands.decisions.why.surroundings``."""
        key = story.workload, story.lines[-1].seq, whole
        cached = self._found.get(key)
        if cached is None:
            cached = surroundings(reader, story, whole=whole)
            if len(cached.notes) <= NOTES_MAX:
                self._found.put(key, cached)
        return cached
