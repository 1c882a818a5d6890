"""What a measurement gives: time on the clock, and CPU time, which other programs disturb less."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Self

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement."""

    what: str
    count: int  # events, or rows of a report
    wall_s: float
    cpu_s: float  # of this process and the database's
    load: float  # of the machine, when it ended

    def line(self) -> str:
        """Return a row of the table."""
        each_s = self.count / self.wall_s if self.wall_s else 0
        return (
            f"| {self.what} | {self.count:,} | {self.wall_s:.2f} | {self.cpu_s:.2f}"
            f" | {each_s:,.0f} | {self.load:.1f} |"
        )


class Watch:
    """Adds up the time of the blocks that it is the context of, or else since it was made."""

    def __init__(self) -> None:
        self._wall_s = self._cpu_s = 0.0
        self._blocks = False
        self._begun = self._now()

    def __enter__(self) -> Self:
        """Begin to measure a block."""
        self._blocks, self._begun = True, self._now()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Add it to the blocks before."""
        self._add()

    def figure(self, label: str, count: int, server_s: float = 0.0) -> Figure:
        """Return what was measured; ``server_s`` is the database's CPU time beside it."""
        if not self._blocks:
            self._add()
        return Figure(
            what=label,
            count=count,
            wall_s=self._wall_s,
            cpu_s=self._cpu_s + server_s,
            load=os.getloadavg()[0],
        )

    def _add(self) -> None:
        wall_s, cpu_s = self._now()
        self._wall_s += wall_s - self._begun[0]
        self._cpu_s += cpu_s - self._begun[1]

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()


def print_table(title: str, figures: Iterable[Figure]) -> None:
    """Print a table, each row as soon as it is known."""
    print(f"\n{title}\n\n| what | events or rows | s | CPU s | a second | load |", flush=True)
    print("| --- | --: | --: | --: | --: | --: |", flush=True)
    for figure in figures:
        print(figure.line(), flush=True)
