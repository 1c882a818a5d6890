"""Jobs that pods name and that were not found: they are looked for again, ever more rarely."""

from __future__ import annotations

import asyncio

AGAIN_S, AGAIN_S_MAX = 2.0, 60.0
"""When such a job is looked for again: twice as late each time, up to this."""


class UnknownJobs:
    """Jobs that were not found, and from when on each may be looked for again."""

    def __init__(self) -> None:
        self._again = dict[str, tuple[float, float]]()  # the loop's time, and the wait before it

    def is_backing_off(self, job: str) -> bool:
        """Return whether a job was looked for in vain a short while ago."""
        return _now_s() < self._again.get(job, (0.0, 0.0))[0]

    def note_missing(self, job: str) -> None:
        """Note that a job was looked for in vain."""
        before_s = self._again.get(job, (0.0, 0.0))[1]
        wait_s = min(2 * before_s, AGAIN_S_MAX) or AGAIN_S
        self._again[job] = _now_s() + wait_s, wait_s

    def forget(self, job: str) -> None:
        """Let a job be looked for at once: it is known, or no pod names it any more."""
        self._again.pop(job, None)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
