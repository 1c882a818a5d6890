"""Progress as lines: the first at once, then one every few seconds, so that logs stay short."""

from __future__ import annotations

import time
from typing import TextIO

_EVERY_S = 5.0


class ProgressLines:
    """Writes to a stream; a terminal sees the same line rewritten, a log sees few lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._live = stream, stream.isatty()
        self._what, self._next_s, self._open = "", 0.0, False

    def write_line(self, line: str) -> None:
        """Write a line of its own."""
        if self._open:
            self._stream.write("\n")
        self._open = False
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def progress(self, step: str, done: int, total: int) -> None:
        """Show how far something is; called as often as one likes."""
        now_s = time.monotonic()
        if step == self._what and now_s < self._next_s:
            return
        self._what, self._next_s = step, now_s + (0.2 if self._live else _EVERY_S)
        line = f"{step}: {done} of at most {total}" if total else f"{step} …"
        if not self._live:
            self.write_line(line)
            return
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()
        self._open = True
