"""Simulated variants: a job runs equally long on any flavor, and ends for all of its variants."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.contracts.facts import FactEvent, WorkloadFinished, WorkloadRemoved
from tidegate.core.accepting.jobs.siblings import with_variant_facts
from tidegate.core.queueing.siblings import variants_of
from tidegate.core.state.state import State, Workload
from tidegate.replay.simulator.scenario import Run, identity


def run_of_job(state: State, runs: Mapping[str, Run], workload: Workload) -> Run | None:
    """Return the run of a workload; for a variant, any known run of its job."""
    parent = state.workloads.get(workload.parent)
    family = [] if parent is None else [*variants_of(state, parent), parent]
    family_runs = [
        run
        for variant in (workload, *family)
        if (run := runs.get(identity(variant.key, variant.uid))) is not None
    ]
    return next(
        (run for run in family_runs if not run.assumed), family_runs[0] if family_runs else None
    )


def endings_of_variants(state: State, workload: Workload, run: Run, now_us: int) -> list[FactEvent]:
    """Return that a workload's job finished or was deleted, for all of its variants."""
    own = state.workloads.get(workload.parent, workload)
    fact: FactEvent = (
        WorkloadRemoved(at_us=now_us, workload=own.key, uid=own.uid)
        if run.removed
        else WorkloadFinished(at_us=now_us, workload=own.key, uid=own.uid, reason=run.reason)
    )
    return list(with_variant_facts(state, [fact]))
