"""How long each stage took, from the ledger's rows and what the API server showed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import quantiles

import msgspec

from bench.cluster.playing import Course
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import QuotaReserved
from tidegate.contracts.facts import WorkloadFinished, WorkloadSubmitted


class Lag(msgspec.Struct, frozen=True):
    """One stage, in milliseconds."""

    stage: str
    p50_ms: float
    p99_ms: float


def lags(ledger: str, courses: Mapping[str, Course], began_us: int) -> list[Lag]:
    """Return each stage's lag.

    Args:
        ledger: URL of the ledger.
        courses: What became of each workload, by its name.
        began_us: UTC microseconds of the courses' zero.
    """
    submitted, reserved, finished = _rows(ledger)

    def behind(rows: Mapping[str, int], stage: str) -> list[float]:
        return [
            (at_us - began_us) / 1e3 - 1e3 * getattr(courses[name], stage)
            for name, at_us in rows.items()
            if name in courses and getattr(courses[name], stage) >= 0
        ]

    return [
        _lag("created to observed", behind(submitted, "created_s")),
        _lag("observed to quota reserved (its wait)", _between(submitted, reserved)),
        _lag("quota reserved to Admitted", [-ms for ms in behind(reserved, "admitted_s")]),
        _lag("finished to observed", behind(finished, "finished_s")),
    ]


def _rows(ledger: str) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return when each workload was submitted, first given quota, and seen to be finished."""
    submitted, reserved, finished = dict[str, int](), dict[str, int](), dict[str, int]()
    names = dict[str, str]()  # of the job, by its workload
    with open_reader(ledger) as reader:
        for entry in reader.entries():
            event = decode(entry.payload)
            match event:
                case WorkloadSubmitted():
                    names[event.workload] = event.job.name
                    submitted.setdefault(event.job.name, event.at_us)
                case QuotaReserved():
                    reserved.setdefault(names[event.workload], event.at_us)
                case WorkloadFinished():
                    finished.setdefault(names[event.workload], event.at_us)
                case _:
                    pass
    return submitted, reserved, finished


def _between(first: Mapping[str, int], second: Mapping[str, int]) -> list[float]:
    return [(second[name] - at_us) / 1e3 for name, at_us in first.items() if name in second]


def _lag(stage: str, waits_ms: Iterable[float]) -> Lag:
    results = sorted(waits_ms)
    if len(results) < 2:  # noqa: PLR2004 - no quantiles of fewer
        return Lag(stage, 0.0, 0.0)
    cuts = quantiles(results, n=100)
    return Lag(stage, cuts[49], cuts[98])
