"""The domains of one level in order of slices and pods that fit, without sorting.

Outdated entries of domains whose numbers changed stay, and are dropped when they are reached.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

import msgspec

_STALE_MAX = 64


class Ladder(msgspec.Struct, kw_only=True, eq=False):
    """Domains in buckets of equal slices and pods, each a heap of numbers."""

    slices: list[int]  # of all domains; the owner changes them and calls ``moved``
    pods: list[int]
    keys: list[tuple[int, int]] = []  # (slices, pods) that have a bucket, ascending
    buckets: dict[tuple[int, int], list[int]] = {}

    def fill(self, domains: Iterable[int]) -> None:
        """Add domains, which must be in ascending order, so that each bucket is a heap."""
        for domain in domains:
            self.buckets.setdefault((self.slices[domain], self.pods[domain]), []).append(domain)
        self.keys = sorted(self.buckets)

    def moved(self, domain: int) -> None:
        """Add a domain with its new numbers."""
        key = self.slices[domain], self.pods[domain]
        bucket = self.buckets.get(key)
        if bucket is None:
            self.buckets[key] = [domain]
            insort(self.keys, key)
            return
        heappush(bucket, domain)
        if len(bucket) > _STALE_MAX and len(bucket) & (len(bucket) - 1) == 0:
            bucket[:] = self._valid(key)

    def at_least(self, slices: int) -> int | None:
        """Return the domain with the fewest slices that suffice, then the fewest pods; or None."""
        at = bisect_left(self.keys, (slices, -1))
        while at < len(self.keys):
            number = self._smallest(self.keys[at])
            if number is not None:
                return number
            del self.keys[at]
        return None

    def largest(self) -> int | None:
        """Return the domain with the most slices, then the fewest pods; None: there is none."""
        while self.keys:
            if self._smallest(self.keys[-1]) is not None:
                return self.at_least(self.keys[-1][0])
            del self.keys[-1]
        return None

    def ascending(self) -> Iterator[int]:
        """Yield the domains with at least one slice by slices, pods and number."""
        for key in self.keys[bisect_left(self.keys, (1, -1)) :]:
            yield from self._valid(key)

    def descending(self) -> Iterator[int]:
        """Yield the domains with at least one slice, the most first, then by pods and number."""
        keys = self.keys
        end, least = len(keys), bisect_left(keys, (1, -1))
        while end > least:
            begin = bisect_left(keys, (keys[end - 1][0], -1))
            for key in keys[begin:end]:
                yield from self._valid(key)
            end = begin

    def _smallest(self, key: tuple[int, int]) -> int | None:
        bucket = self.buckets[key]
        while bucket:
            if (self.slices[bucket[0]], self.pods[bucket[0]]) == key:
                return bucket[0]
            heappop(bucket)
        del self.buckets[key]
        return None

    def _valid(self, key: tuple[int, int]) -> list[int]:
        domains = dict.fromkeys(self.buckets[key])
        valid = sorted(
            domain for domain in domains if (self.slices[domain], self.pods[domain]) == key
        )
        self.buckets[key] = valid
        return list(valid)
