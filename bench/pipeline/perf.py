"""What the kernel and the processor count of each process: fsyncs, and instructions it ran.

``perf`` counts without slowing a process down. Beside other programs an instruction takes longer,
but the same work has as many of them. Where ``perf`` is missing, or this account may not use it, or
the processor counts nothing, there is no figure, rather than one of another kind.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shutil import which
from typing import Self

FSYNCS, INSTRUCTIONS = "fsyncs", "instructions"
_EVENTS = {
    "syscalls:sys_enter_fsync": FSYNCS,
    "syscalls:sys_enter_fdatasync": FSYNCS,
    "instructions:u": INSTRUCTIONS,
}
_ATTACH_S = 1.0


@dataclass
class Counting:
    """Counters of a few processes, from ``begun`` to ``ended``."""

    _counting: Mapping[str, asyncio.subprocess.Process]

    @classmethod
    async def start(cls, pids: Mapping[str, Sequence[int]]) -> Self:
        """Begin to count; ``pids`` are processes by the name of their part."""
        perf = which("perf")
        counting = dict[str, asyncio.subprocess.Process]()
        for part, of in pids.items() if perf else ():
            rows = ["stat", "-x", ",", "-e", ",".join(_EVENTS), "-p", ",".join(map(str, of))]
            counting[part] = await asyncio.create_subprocess_exec(
                str(perf),
                *rows,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        await asyncio.sleep(_ATTACH_S if counting else 0)
        return cls(counting)

    async def stop(self) -> dict[str, dict[str, int]]:
        """Return each count by part; a part that could not be counted is missing."""
        counts = dict[str, dict[str, int]]()
        for part, process in self._counting.items():
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            _, output = await process.communicate()
            for event, number in _parse_counts(output.decode()):
                parts = counts.setdefault(_EVENTS[event], {})
                parts[part] = parts.get(part, 0) + number
        return counts


def _parse_counts(message: str) -> list[tuple[str, int]]:
    """Return each event's count by ``perf stat -x ,``: count, unit and event first in each line."""
    rows = (line.split(",") for line in message.splitlines())
    return [
        (row[2], int(row[0]))
        for row in rows
        if len(row) > 2 and row[0].isdigit() and row[2] in _EVENTS  # noqa: PLR2004 - see above
    ]
