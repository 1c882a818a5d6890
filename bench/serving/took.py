"""How long something took, and a row of a table of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

HEAD = """\
| what | times | CPU ms, median | most | wall ms, median | most | MiB then |
| --- | --: | --: | --: | --: | --: | --: |"""


class Took(NamedTuple):
    """How long something took, in milliseconds."""

    wall_ms: float
    cpu_ms: float

    @staticmethod
    def since(begun_s: float, cpu_s: float) -> Took:
        """Return what it took since a time of ``perf_counter``, with the CPU seconds used."""
        return Took(1_000 * (time.perf_counter() - begun_s), 1_000 * cpu_s)


def row(name: str, took: Sequence[Took], mib: float) -> str:
    """Return a row of the table; nothing was measured where nothing came."""
    if not took:
        return f"| {name} | 0 | did not come | | | | {mib:.0f} |"
    walls, cpus = zip(*took, strict=True)
    figures = statistics.median(cpus), max(cpus), statistics.median(walls), max(walls)
    cells = " | ".join(f"{figure:.0f}" for figure in figures)
    return f"| {name} | {len(took)} | {cells} | {mib:.0f} |"
