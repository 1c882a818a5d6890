"""Objects as our own last write left them: what a moment later need not be read again."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.jobs.kind import Object

LASTS_S = 30.0
"""Seconds: later, another client may have changed them."""
BYTES_MAX = 32 << 20
"""Of all that is remembered, as the API server wrote it: an object may have more than a MiB."""


@dataclass(slots=True)
class Recent:
    """Objects by path, the oldest write first. Nothing depends on it: patches name a version."""

    _kept: dict[str, tuple[float, int, Object]] = field(default_factory=dict)
    _bytes: int = 0

    def put(self, path: str, obj: Object, size: int, now_s: float) -> None:
        """Remember an object of ``size`` bytes, and forget the oldest ones beyond ``BYTES_MAX``."""
        self.drop(path)
        self._kept[path] = now_s, size, obj
        self._bytes += size
        while self._bytes > BYTES_MAX or self._is_past(now_s):
            self.drop(next(iter(self._kept)))

    def get(self, path: str, now_s: float) -> Object | None:
        """Return an object, None if it is not remembered any more."""
        at_s, _, obj = self._kept.get(path, (now_s, 0, None))
        return obj if now_s - at_s <= LASTS_S else None

    def drop(self, path: str) -> None:
        """Forget an object: it is not as our last write left it."""
        _, size, _ = self._kept.pop(path, (0.0, 0, None))
        self._bytes -= size

    def _is_past(self, now_s: float) -> bool:
        oldest = next(iter(self._kept.values()), None)
        return oldest is not None and now_s - oldest[0] > LASTS_S
