"""Objects as our own last write left them: what a moment later need not be read again.

They are kept as the API server wrote them: decoded they take several times as much memory, and each
collection of garbage would walk them, while most are never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LASTS_S = 30.0
"""Seconds: later, another client may have changed them."""
BYTES_MAX = 32 << 20
"""Of all that is remembered, as the API server wrote it: an object may have more than a MiB."""


@dataclass(slots=True)
class Recent:
    """Objects by path, the oldest write first. Nothing depends on it: patches name a version."""

    _kept: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    _bytes: int = 0

    def put(self, path: str, written: bytes, now_s: float) -> None:
        """Remember an object's JSON, and forget the oldest ones beyond ``BYTES_MAX``."""
        self.drop(path)
        self._kept[path] = now_s, written
        self._bytes += len(written)
        while self._bytes > BYTES_MAX or self._is_past(now_s):
            self.drop(next(iter(self._kept)))

    def get(self, path: str, now_s: float) -> bytes:
        """Return an object's JSON, empty if it is not remembered any more."""
        at_s, written = self._kept.get(path, (now_s, b""))
        return written if now_s - at_s <= LASTS_S else b""

    def drop(self, path: str) -> None:
        """Forget an object: it is not as our last write left it."""
        _, written = self._kept.pop(path, (0.0, b""))
        self._bytes -= len(written)

    def _is_past(self, now_s: float) -> bool:
        oldest = next(iter(self._kept.values()), None)
        return oldest is not None and now_s - oldest[0] > LASTS_S
