"""A worker cluster of ``crowd``: a copy of each workload, one object for all, and what it does."""

from __future__ import annotations

from random import Random

import msgspec

from tests.core.multikueue.stage import WORKLOAD

OVER = {"finished", "outofsync", "replaced"}
"""Words of a copy that has ended."""


class Remote(msgspec.Struct, kw_only=True):
    """What a cluster has; times in seconds, 0: not."""

    name: str
    elastic: bool  # the workloads are slices of one job
    connected: bool = False
    copies: dict[str, dict[str, int]] = {}  # by workload, in the words of ``stage``
    job: bool = False  # the object, sent from here
    runs: str = ""  # the workload for which it was sent, or that it joined last

    def forget(self) -> None:
        """Have the object no more."""
        self.job, self.runs = False, ""

    def admit(self, random: Random, now_s: int) -> None:
        """Admit a copy, or reserve quota for it."""
        key = self._one(random)
        words = self.copies.get(key)
        if words is None or "stopping" in words:
            return
        words.pop("evicted", None)
        words["reserved"] = 0
        if random.random() < 0.7:
            words.setdefault("admitted", now_s)
            self._replace(key, now_s)

    def _replace(self, key: str, now_s: int) -> None:
        """Let a slice that is admitted take the place of those before it."""
        for other, words in self.copies.items() if self.elastic else ():
            older = _number(other) < _number(key)
            if older and "admitted" in words and not OVER & words.keys():
                words["replaced"] = now_s

    def evict(self, random: Random, now_s: int, *, having: str) -> None:
        """Evict a copy that has quota and this word."""
        words = self.copies.get(self._one(random, having), {})
        if "reserved" in words:
            words.pop("reserved")
            words.pop("admitted", None)
            words["evicted"] = now_s

    def end(self, word: str, now_s: int) -> None:
        """Let an elastic job end for the slice that it is one with; groups never end."""
        words = self.copies.get(self.runs, {})
        if self.elastic and self.job and "admitted" in words and not OVER & words.keys():
            words[word] = now_s

    def _one(self, random: Random, having: str = "") -> str:
        """Return the key of a copy that is not over and has a word; empty: there is none."""
        standing = [
            key
            for key, words in self.copies.items()
            if not OVER & words.keys() and (not having or having in words)
        ]
        return random.choice(standing) if standing else ""


def suffix(key: str) -> str:
    """Return what tells a slice from its job's first one."""
    return key.removeprefix(WORKLOAD)


def _number(key: str) -> int:
    return int(suffix(key).removeprefix("-") or 0)
