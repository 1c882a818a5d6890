"""How often each process asked the disk to keep what it wrote, as the kernel counts it.

``perf`` counts a process's calls without slowing it down. Where it is missing, or this account may
not use it, nobody tells: then there is no figure, rather than one of another kind.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shutil import which
from typing import Self

CALLS = ("fsync", "fdatasync")
_EVENTS = ",".join(f"syscalls:sys_enter_{call}" for call in CALLS)
_ATTACH_S = 1.0


@dataclass
class Fsyncs:
    """Counters of a few processes, from ``begun`` to ``ended``."""

    _counting: Mapping[str, asyncio.subprocess.Process]

    @classmethod
    async def begun(cls, pids: Mapping[str, Sequence[int]]) -> Self:
        """Begin to count; ``pids`` are processes by the name of their part."""
        perf = which("perf")
        counting = dict[str, asyncio.subprocess.Process]()
        for part, of in pids.items() if perf else ():
            rows = ["stat", "-x", ",", "-e", _EVENTS, "-p", ",".join(map(str, of))]
            counting[part] = await asyncio.create_subprocess_exec(
                str(perf),
                *rows,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        await asyncio.sleep(_ATTACH_S if counting else 0)
        return cls(counting)

    async def ended(self) -> dict[str, int]:
        """Return the calls of each part; a part that could not be counted is missing."""
        counts_by_part = dict[str, int]()
        for part, process in self._counting.items():
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            _, output = await process.communicate()
            counts = _counts(output.decode())
            if counts:
                counts_by_part[part] = sum(counts)
        return counts_by_part


def _counts(message: str) -> list[int]:
    """Return the counts of ``perf stat -x ,``: one line an event, the count first."""
    rows = (line.split(",") for line in message.splitlines())
    return [int(row[0]) for row in rows if len(row) > 2 and row[0].isdigit()]  # noqa: PLR2004 - count, unit, event
