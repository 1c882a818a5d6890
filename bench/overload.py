"""Measure what rules do with too much work: ``python -m bench.overload [--load NAME] [--fair]``.

The cluster of ``bench.real`` gets more than it can run, by random arrivals, for some hours of
virtual time. A row for each load and mode: what share of the work was lost to preemptions, what was
finished, the longest wait, and the preemptions for each arrival or end of a job.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from bench.real.arrivals import SECOND_US, TIMES, Job, jobs
from bench.real.cluster import Cluster
from bench.real.objects import beginning
from bench.real.steps import arrivals_a_second

MODES = ("kueue", "tidegate")
STOP_US = 10 * SECOND_US
"""How long pods take to stop: without it Kueue's circles would turn within no time, for ever."""
_HOUR_S = 3_600


@dataclass(frozen=True)
class Outcome:
    """What became of a load under one set of rules."""

    load: str
    mode: str
    changes: int  # arrivals and ends
    preemptions: int
    preemptions_max: int  # behind one outside change
    lost: float  # share of what was run
    finished_cpu_h: float  # work of those that ran to their end
    longest_wait_s: float  # until the last start, or until the end of the measurement

    def line(self) -> str:
        """Return a row of the report."""
        return (
            f"{self.load:8} {self.mode:8} lost {self.lost:6.1%}  "
            f"finished {self.finished_cpu_h:8.0f} CPU h  "
            f"longest wait {self.longest_wait_s / _HOUR_S:5.2f} h  "
            f"{self.preemptions / max(1, self.changes):.2f} preemptions a change "
            f"(at most {self.preemptions_max}, {self.changes} changes)"
        )


def play(  # noqa: PLR0913 - each is one dimension of the measurement
    load: str, mode: str, *, queues: int, hours: float, overload: float, fair: bool, seed: int
) -> Outcome:
    """Play a load for some hours and return what became of it."""
    cluster = Cluster(stop_us=STOP_US)
    cluster.fold(beginning(queues, mode, fair=fair))
    cluster.decide()
    end_us = int(hours * _HOUR_S * SECOND_US)
    finished = 0
    submitted = dict[str, Job]()
    for job in jobs(load, queues, overload * arrivals_a_second(queues), seed):
        if job.at_us > end_us:
            break
        submitted[job.asked.workload] = job
        cluster.run_until(job.at_us)
        cluster.step(job)
    cluster.run_until(end_us)
    finished = sum(
        job.cpu * job.run_us for key, job in submitted.items() if key not in cluster.jobs
    )
    waiting = (job for key, job in cluster.jobs.items() if key not in cluster.running)
    waits_us = [*cluster.tally.waits_us, *(end_us - job.at_us for job in waiting)]
    tally = cluster.tally
    return Outcome(
        load=load,
        mode=mode,
        changes=tally.changes,
        preemptions=tally.preemptions,
        preemptions_max=tally.preemptions_max,
        lost=cluster.lost_share(),
        finished_cpu_h=finished / 1_000 / SECOND_US / _HOUR_S,
        longest_wait_s=max(waits_us, default=0) / SECOND_US,
    )


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return 0."""
    parser = ArgumentParser(prog="python -m bench.overload", description=__doc__)
    parser.add_argument("--load", choices=tuple(TIMES), action="append")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--fair", action="store_true")
    parser.add_argument("--queues", type=int, default=6)
    parser.add_argument("--hours", type=float, default=4.0)
    parser.add_argument("--overload", type=float, default=1.2, help="of what all quota can run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for load in options.load or TIMES:
        for mode in options.mode or MODES:
            outcome = play(
                load,
                mode,
                queues=options.queues,
                hours=options.hours,
                overload=options.overload,
                fair=options.fair,
                seed=options.seed,
            )
            sys.stdout.write(outcome.line() + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
