"""What Workloads say to their jobs: fields that override the job's own, and variants' checks.

The controllers of checks write these on the variant that holds quota. The Workloads of variants are
written by the actuator and have no other content: the requests are on the job and on its own
Workload.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from tidegate.contracts.observations import CheckSeen, JobObserved
from tidegate.jobs.gates import gate_names
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.workload_fields import (
    closed_gates,
    has_quota_elsewhere,
    is_active,
    priority_boost,
    topology_elsewhere,
    variant_of,
)
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.conversion import (
    check_states,
    checks_began_at,
    checks_since,
)
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta, true_condition
from tidegate.model.texts import parse_whole
from tidegate.model.topology import TopologyAssignment


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """A Workload's overrides of its job."""

    workload: str  # its uid
    active: bool = True
    held_quota: bool = False
    held_places: dict[str, TopologyAssignment] = {}
    priority_boost: int = 0
    gates: tuple[str, ...] = ()
    preemption_gates: tuple[str, ...] = ()
    checks: tuple[CheckSeen, ...] = ()
    checks_since: str = ""
    nominated: tuple[str, ...] = ()
    deactivated: str = ""
    left_open: bool = False


NONE = Overrides(workload="")
"""The overrides of a job without a Workload: none."""


def overrides_of(workload: Workload) -> Overrides:
    """Return a Workload's overrides of its job."""
    annotations = workload.metadata.annotations
    return Overrides(
        workload=workload.metadata.uid,
        active=is_active(workload),
        held_quota=has_quota_elsewhere(workload),
        held_places=topology_elsewhere(workload),
        priority_boost=priority_boost(workload),
        gates=gate_names(annotations),
        preemption_gates=closed_gates(workload),
        checks=check_states(workload),
        checks_since=checks_since(workload),
        nominated=workload.status.nominated_cluster_names,
        deactivated=annotations.get(names.DEACTIVATED, ""),
        left_open=true_condition(workload.status.conditions, "Finished") is None,
    )


def with_overrides(
    job: JobObserved, over: Overrides, of_variant: tuple[tuple[CheckSeen, ...], str] | None
) -> JobObserved:
    """Return a job as its Workload overrides it; the checks are those of a variant, if one has."""
    checks, since = of_variant or (over.checks, over.checks_since)
    return msgspec.structs.replace(
        job,
        active=over.active,
        held_quota=over.held_quota,
        held_places=over.held_places,
        priority_boost=over.priority_boost,
        gates=tuple(dict.fromkeys((*job.gates, *over.gates))),
        preemption_gates=over.preemption_gates,
        checks=checks,
        checks_since=since,
        nominated=over.nominated,
        deactivated=over.deactivated,
        left_open=over.left_open and bool(job.finished),
    )


def is_additional_slice(workload: Workload) -> bool:
    """Return whether an elastic job has another Workload: this slice is old, or will replace it.

    One that was evicted had taken over before.
    """
    annotations, conditions = workload.metadata.annotations, workload.status.conditions
    had = true_condition(conditions, "QuotaReserved") or true_condition(conditions, "Evicted")
    waits = names.SLICE_REPLACES in annotations and not had
    elastic = annotations.get(names.ELASTIC_JOB) == "true"
    return elastic and (waits or true_condition(conditions, "Finished") is not None)


class VariantAnnotations(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations, reservation and checks of one variant."""

    job: str  # as ``JobIndex`` calls it
    reserved: bool  # it holds quota
    since: str = ""
    began_at: str = ""  # RFC 3339
    checks: tuple[CheckSeen, ...] = ()


class Variants:
    """The variants that Tidegate made, by their uids."""

    def __init__(self) -> None:
        self._annotations = dict[str, VariantAnnotations]()
        self._of = dict[str, dict[str, None]]()  # a job to its variants

    def add(self, workload: Workload) -> str:
        """Remember a variant; return its job if the job's observation changed, else ""."""
        uid, job = workload.metadata.uid, job_of(workload.metadata)
        before = self.checks(job)
        self._annotations[uid] = VariantAnnotations(
            job=job,
            reserved=true_condition(workload.status.conditions, "QuotaReserved") is not None,
            since=checks_since(workload),
            began_at=checks_began_at(workload),
            checks=check_states(workload),
        )
        self._of.setdefault(job, {})[uid] = None
        return job if self.checks(job) != before else ""

    def forget(self, uid: str) -> str:
        """Forget a variant that is gone; return its job, "" if it was none."""
        state = self._annotations.pop(uid, None)
        if state is None:
            return ""
        others = self._of[state.job]
        del others[uid]
        if not others:
            del self._of[state.job]
        return state.job

    def retain(self, present: Collection[str]) -> list[str]:
        """Forget the variants that a list no longer has; return their jobs."""
        return [self.forget(uid) for uid in list(self._annotations) if uid not in present]

    def checks(self, job: str) -> tuple[tuple[CheckSeen, ...], str] | None:
        """Return the check states of the variant with quota, and since when; None: none has."""
        states = [self._annotations[uid] for uid in self._of.get(job, ())]
        last = max((state for state in states if state.reserved), key=_newest, default=None)
        return None if last is None else (last.checks, last.since)


def is_variant(meta: ObjectMeta) -> bool:
    """Return whether a Workload is a variant that Tidegate created from another."""
    return names.VARIANT_FOR in meta.annotations and variant_of(meta) != ""


def job_of(meta: ObjectMeta) -> str:
    """Return the job of a variant: its uid, or the key of its Workload if it is several objects."""
    kind = meta.annotations.get(names.VARIANT_FOR, "").rpartition("/")[0]
    if kind in JOB_KINDS and JOB_KINDS[kind].members is not None:
        return variant_of(meta)
    return meta.labels.get(names.JOB_UID, "")


def _newest(state: VariantAnnotations) -> tuple[str, int, str]:
    """Return what orders variants: a ledger that was lost may have left one of a greater seq."""
    seq = state.since.rpartition("/")[2]
    return state.began_at, parse_whole(seq) or 0, state.since
