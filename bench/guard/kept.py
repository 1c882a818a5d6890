"""The kept table of measurements, and what a new run lost against it.

A machine is fast or slow, idle or busy; what is kept is therefore never a rate alone but its ratio
to a raw rate of the same run on the same machine. Every ratio is made so that more is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median_low

import msgspec

PATH = Path(__file__).with_name("kept.json")
LOSS_MAX = 0.20
"""The share of a kept ratio that a run may lose."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What one run gave for one outcome."""

    figure: float
    raw: float  # what the bare machine, database or API server gave in the same run
    unit: str  # of both: "decisions / loops of a CPU second"

    @property
    def ratio(self) -> float:
        """Return what is compared."""
        return self.figure / self.raw


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What was kept."""

    date: str  # ISO 8601
    machine: str
    outcomes: dict[str, Sample]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome against the kept one."""

    name: str
    now: Sample
    kept: Sample | None = None  # None: it is measured for the first time

    @property
    def loss(self) -> float:
        """Return the share that was lost; below 0: won."""
        return 0.0 if self.kept is None else 1 - self.now.ratio / self.kept.ratio

    @property
    def failed(self) -> bool:
        """Return whether more was lost than may be."""
        return self.loss > LOSS_MAX


def median_run(runs: Sequence[Mapping[str, Sample]]) -> dict[str, Sample]:
    """Return the sample of the median ratio of each outcome that all runs have."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: _median([run[name] for run in runs]) for name in names}


def compare(now: Mapping[str, Sample], table: Table | None) -> list[Verdict]:
    """Return a verdict on each outcome of now; what was kept and is not measured is left out."""
    before = {} if table is None else table.outcomes
    return [Verdict(name=name, now=sample, kept=before.get(name)) for name, sample in now.items()]


def report(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield a line for each verdict, then one for each failure."""
    listed = list(verdicts)
    for verdict in listed:
        before = (
            "new"
            if verdict.kept is None
            else f"kept {verdict.kept.ratio:.4g}, {-verdict.loss:+.1%}"
        )
        figures = f"{verdict.now.figure:,.4g} / {verdict.now.raw:,.4g} {verdict.now.unit}"
        yield f"{verdict.name:<28} {verdict.now.ratio:10.4g}  ({before})  {figures}"
    for verdict in listed:
        if verdict.failed:
            yield (
                f"LOST {verdict.name}: {verdict.loss:.1%} of the kept ratio, "
                f"{LOSS_MAX:.0%} may be lost"
            )


def read(path: Path = PATH) -> Table | None:
    """Return the kept table; None if nothing was kept yet.

    Raises:
        msgspec.DecodeError: the file is no table.
    """
    return msgspec.json.decode(path.read_bytes(), type=Table) if path.exists() else None


def write(table: Table, path: Path = PATH) -> None:
    """Keep a table; outcomes that it lacks stay as they were kept."""
    before = read(path)
    outcomes = {**({} if before is None else before.outcomes), **table.outcomes}
    merged = msgspec.structs.replace(table, outcomes=dict(sorted(outcomes.items())))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(merged), indent=1) + b"\n")


def _median(samples: Sequence[Sample]) -> Sample:
    ratio = median_low(sample.ratio for sample in samples)
    return next(sample for sample in samples if sample.ratio == ratio)
