"""What a run found, as a table: faults by kind, how soon a job ran after each, what was lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import msgspec


class Struck(msgspec.Struct, frozen=True):
    """One fault, and how long after it a Job that came with it ran, s."""

    fault: str
    recovered_s: float


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    minutes: float
    seed: int
    submitted: int
    completed: int
    struck: tuple[Struck, ...]
    lost: tuple[str, ...] = ()  # Jobs that did not complete, or failed
    violations: tuple[str, ...] = ()  # promises that were broken for too long
    audit: str = ""  # what the ledger's audit found wrong; empty: nothing

    @property
    def holds(self) -> bool:
        """Tell whether all was as it must be."""
        return not (self.lost or self.violations or self.audit)


def table(match: Found) -> str:
    """Return the table, with what was lost below it."""
    by_kind = defaultdict[str, list[float]](list)
    for struck in match.struck:
        by_kind[struck.fault].append(struck.recovered_s)
    lines = [_line("fault", "times", "median s", "worst s")]
    lines += [_row(kind, times) for kind, times in sorted(by_kind.items())]
    lines += [_row("all", [struck.recovered_s for struck in match.struck])] if match.struck else []
    lines.append("")
    lines.append(
        f"{match.minutes:g} minutes, seed {match.seed}: {match.submitted} jobs submitted, "
        f"{match.completed} completed, {len(match.lost)} lost; {len(match.struck)} faults; "
        f"{len(match.violations)} promises broken; audit: {match.audit or 'nothing to object to'}"
    )
    lines += [f"lost: {name}" for name in match.lost]
    lines += [f"broken: {what}" for what in match.violations]
    return "\n".join(lines)


def _row(kind: str, times: Sequence[float]) -> str:
    return _line(kind, str(len(times)), f"{median(times):.1f}", f"{max(times):.1f}")


def _line(kind: str, times: str, middle: str, worst: str) -> str:
    return f"{kind:<32} {times:>6} {middle:>9} {worst:>8}"
