"""Which runner a suite's cases are put to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from tests.conformance.cases import Case
from tests.conformance.needs import believed_bug, needs
from tests.conformance.report import Judge
from tests.conformance.suites import charges, cycles, flavors, placements, queues, quotas, victims

Runner = Callable[[Case, str], Iterable[str]]

RUNNERS: dict[str, Runner] = {
    "adjust-resources": charges.run_adjusted,
    "afs": cycles.run,
    "candidates-ordering": queues.run_candidates,
    "concurrent-admission": cycles.run,
    "dominant-share": quotas.run_share,
    "entry-ordering": queues.run_entries,
    "flavorassigner": flavors.run,
    "preemption-classic": victims.run,
    "preemption-fair": victims.run,
    "preemption-hierarchical": victims.run,
    "queue-order": queues.run_order,
    "queue-readiness": queues.run_readiness,
    "quota": quotas.run_quota,
    "schedule": cycles.run,
    "schedule-fair": cycles.run,
    "tas": cycles.run,
    "tas-assignment": placements.run,
    "usage-report": quotas.run_usage,
    "workload-info": charges.run_info,
}


def judge(suite: str, mode: str) -> Judge[Case]:
    """Return how a suite is judged; one without a runner asks for what is not built."""
    runner = RUNNERS.get(suite)
    if runner is None:
        return Judge(run=_nothing, needs=_unknown, bug=believed_bug, id=_id)
    return Judge(run=partial(_run, runner, mode), needs=needs, bug=believed_bug, id=_id)


def _run(runner: Runner, mode: str, case: Case) -> Iterable[str]:
    return runner(case, mode)


def _nothing(case: Case) -> Iterable[str]:
    return [f"{case.suite} has no runner"]


def _unknown(case: Case) -> str | None:
    return needs(case) or "no such decision is built"


def _id(case: Case) -> str:
    return case.id
