"""Which fault strikes next, by seed, and how often each did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Literal

Fault = Literal[
    # a process
    "death",
    "stall",  # it stops for longer than a lease
    "patch_stalls",  # it does so with a change of an object in its hand
    "commit_stalls",  # it does so with a commit in its hand
    # the API server
    "unanswered",  # it is not reached, or its answer is lost
    "busy",  # it answers 429 or 500
    "watch_breaks",
    "deletion_missed",  # a watch leaves out that an object was deleted
    "overtaken",  # another client changes an object that was read before it is patched
    "listed_late",  # another client makes or deletes an object while a list is under way
    # the database
    "disk",  # it does not answer, or its answer to a commit is lost
    "read_fails",  # a read ends halfway
    # the bus
    "cut_before",  # a connection breaks, and a message with it
    "cut_behind",  # a connection breaks, and the answer with it
    "unheard",  # a delivery to a reader is dropped
    "hole",  # a stored observation is lost for good
    "resync_fails",  # ingest cannot be asked to tell everything again
    # what a reader is handed, as if its place had been wrong
    "skip",
    "repeat",
    "interleave",
    "event_lost",
]
LOSSES: frozenset[str] = frozenset({"hole", "skip", "interleave", "deletion_missed"})
"""What loses an observation, or brings it too late to count."""
MOST: dict[Fault, float] = {
    "death": 0.02,
    "stall": 0.004,
    "patch_stalls": 0.2,
    "commit_stalls": 0.03,
    "unanswered": 0.2,
    "busy": 0.2,
    "watch_breaks": 0.1,
    "deletion_missed": 0.5,
    "overtaken": 0.5,
    "listed_late": 0.5,
    "disk": 0.1,
    "read_fails": 0.1,
    "cut_before": 0.03,
    "cut_behind": 0.03,
    "unheard": 0.05,
    "hole": 0.05,
    "resync_fails": 0.5,
    "skip": 0.2,
    "repeat": 0.5,
    "interleave": 0.3,
    "event_lost": 0.3,
}
"""How likely each may be, at each thing that it can happen to."""


class Weather:
    """How likely what is; changed while the world runs, without chances in calm."""

    def __init__(self, chances: Mapping[Fault, float] | None = None) -> None:
        self.chances = dict[Fault, float](chances or {})
        self.struck = Counter[str]()
        self.away_s = 0.0, 0.0  # since when and until when the API server is not reached
        self.refused_until_s = 0.0  # until when the API server refuses changes of Jobs
        self.blind_until_s = 0.0  # a watch misses deletions until then, or until the next list

    def strikes(self, fault: Fault, random: Random, share: float = 1.0) -> bool:
        """Tell whether a fault happens now; one without a chance costs no random number."""
        chance = self.chances.get(fault, 0.0) * share
        hit = chance > 0 and random.random() < chance
        self.struck[fault] += hit
        return hit

    def is_away(self, now_s: float, since_s: float | None = None) -> bool:
        """Tell whether the API server is not reached now, or was not since a moment."""
        from_s, until_s = self.away_s
        return from_s <= now_s < until_s or (since_s is not None and since_s < from_s)

    def refuses(self, now_s: float) -> bool:
        """Tell whether the API server refuses changes of Jobs now: a webhook does not answer."""
        return now_s < self.refused_until_s

    def worsen(self, random: Random, *, share: float, lossless: bool) -> None:
        """Draw which faults may strike from now on; of few each is seen by itself."""
        for fault, most in MOST.items():
            if random.random() < share and not (lossless and fault in LOSSES):
                self.chances[fault] = random.uniform(0.2, 1.0) * most

    def calm(self) -> None:
        """Let no fault happen from now on."""
        self.chances.clear()
