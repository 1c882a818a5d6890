"""Kinds that a field suspends: one engine for all of them; a ``Layout`` gives the paths.

A start unsuspends and puts in, in one patch. A stop takes steps: suspend, wait until nothing is
active, then restore, for most kinds refuse to change the template of what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import is_elastic, job_state, managed_job, unmanaged_job
from tidegate.jobs.job_status import (
    JobStatus,
    Layout,
    PodSetLocation,
    UntypedObject,
    charged_template,
)
from tidegate.jobs.kind import Done, JobKind, Object, Patch, Refused, Start, Step, Stop, Wait
from tidegate.jobs.templates.notes import before_start, decision_seq_of, with_decision
from tidegate.jobs.templates.paths import Path, list_at, merge_patch, value_at, with_value
from tidegate.jobs.templates.placing import Note, derived_note, inject_podsets, restore_podsets
from tidegate.jobs.templates.podsets import model_podsets, with_min_count, written_podset
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta

_POLL_S = 0.2
_GATES = ("spec", "schedulingGates")


class SuspendEngine(msgspec.Struct, frozen=True):
    """The functions of a ``JobKind``, for one layout."""

    layout: Layout
    suspend: Path  # the field that keeps an object from running while it is true

    def observe(self, kind: JobKind[UntypedObject], loose: UntypedObject) -> JobObserved:
        """See ``JobKind.observe``."""
        obj = loose.as_json()
        if kind.managed_by is not None and kind.managed_by.is_elsewhere(obj):
            return unmanaged_job(kind, loose.metadata)
        standing = self.layout.status_of(obj)
        places = self.layout.podset_locations(obj)
        podsets, elastic = model_podsets(obj, places), is_elastic(loose.metadata.annotations)
        self.layout.check(podsets)
        classes = (self.layout.priority_class(obj), *(podset.priority_class for podset in podsets))
        observation = managed_job(kind, loose.metadata)
        elsewhere = () if kind.managed_by is None else kind.managed_by.gates(obj)
        return msgspec.structs.replace(
            observation,
            gates=(*observation.gates, *standing.gates, *elsewhere),
            pod_priority_class=next((name for name in classes if name), ""),
            podsets=podsets,
            reclaimable={} if elastic else standing.reclaimable,
            elastic=elastic,
            ungated=elastic
            and not self._is_suspended(obj)
            and not all(_pods_are_gated(obj, places)),
            finished=standing.finished,
            message=standing.message,
            state=self._state(loose, standing, sum(podset.count for podset in podsets)),
        )

    def start(self, start: Start, job: Object) -> Step:
        """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
        if decision_seq_of(job, start.ledger_id) >= start.seq or self.terminal_phase(job):
            return Done()
        if self._is_started_elastic(job):  # its pods are let go by their gates
            return Patch(body=_decision_patch(start.decision))
        before = self._original_job(job)
        patched = self._started_job(before, start)
        if isinstance(patched, Refused):
            return patched
        if patched["spec"] != job["spec"]:
            if start.is_stale(job):
                return Refused(reason="stale", message="The job changed after this was decided.")
            if not self._is_suspended(job) and not self._only_unsuspends(job, patched):
                return Patch(body=self._suspended_job(job))
            prepared = self._with_start_prepared(job, patched)
            if self.layout.writes_suspended and prepared["spec"] != job["spec"]:
                return Patch(body=merge_patch(job, prepared))
        return Patch(body=merge_patch(job, patched))

    def stop(self, stop: Stop, job: Object, waited_s: float) -> Step:
        """See ``JobKind.stop``: suspend; wait until nothing is active; restore."""
        del waited_s  # nothing but its controller can end its pods
        seq, suspended = decision_seq_of(job, stop.ledger_id), self._is_suspended(job)
        if seq > stop.seq or self.terminal_phase(job) or (seq == stop.seq and not suspended):
            return Done()  # unsuspended after our patch: that is news for a next decision
        if seq < stop.seq:
            return Patch(
                body=_merge_objects(self._suspended_job(job), _decision_patch(stop.decision))
            )
        if names.INJECTED not in job["metadata"].get("annotations", {}):
            return Done()
        if self._status_of(job).active:
            return Wait(after_s=_POLL_S)
        return Patch(body=merge_patch(job, self._original_job(job, stop.order.podsets)))

    def podsets(self, job: Object) -> list[Object]:
        """See ``JobKind.podsets``."""
        source = self._original_job(job)
        return [_written(source, place) for place in self.layout.podset_locations(source)]

    def job_state(self, meta: ObjectMeta, job: Object) -> JobState:
        """See ``JobKind.status_of``."""
        try:
            active = self._status_of(job).active
        except UndecodableError:
            active = 1
        return job_state(meta, suspended=self._is_suspended(job), active=active)

    def terminal_phase(self, job: Object) -> str:
        """See ``JobKind.terminal_phase``."""
        try:
            return self._status_of(job).finished
        except UndecodableError:
            return ""  # what cannot be read is stopped like what runs

    def _state(self, loose: UntypedObject, standing: JobStatus, pods: int) -> JobState:
        return job_state(
            loose.metadata,
            suspended=self._is_suspended(loose.as_json()),
            active=standing.active,
            ready=pods if standing.ready else 0,
            sized=self.layout.size_version(loose.as_json()),
        )

    def _started_job(self, before: Object, start: Start) -> Object | Refused:
        """Return the job as it should run, or why it cannot."""
        placed_job = inject_podsets(self.layout, before, start)
        if isinstance(placed_job, Refused):
            return placed_job
        job, note = placed_job
        job = with_value(job, self.suspend, value=False)
        return with_decision(job, start.decision, note if note != Note() else None)

    def _original_job(self, job: Object, podsets: tuple[PodSetStart, ...] = ()) -> Object:
        """Return the job as its owner wrote it; ``podsets``: what the ledger knows was put in."""
        note = lambda: derived_note(self.layout, job, podsets)  # noqa: E731 - only if it is needed
        return before_start(job, Note, self._without_note, note)

    def _with_start_prepared(self, job: Object, desired: Object) -> Object:
        """Return a job with all of a start but that it runs, and without the decision to."""
        prepared: Object = with_value(desired, self.suspend, value=True)
        decision = value_at(job, ("metadata", "annotations", names.DECISION))
        result: Object = with_value(prepared, ("metadata", "annotations", names.DECISION), decision)
        return result

    def _is_started_elastic(self, job: Object) -> bool:
        """Return whether an elastic job was started: its templates stay as they are."""
        annotations = job["metadata"].get("annotations", {})
        started = names.INJECTED in annotations and not self._is_suspended(job)
        return started and is_elastic(annotations)

    def _without_note(self, job: Object, note: Note) -> Object:
        return restore_podsets(self.layout, job, note)

    def _status_of(self, job: Object) -> JobStatus:
        return self.layout.status_of({"status": {}, **job})

    def _is_suspended(self, job: Object) -> bool:
        return value_at(job, self.suspend) is True

    def _only_unsuspends(self, job: Object, desired: Object) -> bool:
        same: Object = with_value(job, self.suspend, value=False)
        return bool(same["spec"] == desired["spec"])

    def _suspended_job(self, job: Object) -> Object:
        return merge_patch(job, with_value(job, self.suspend, value=True))


def _pods_are_gated(job: Object, places: Iterable[PodSetLocation]) -> Iterator[bool]:
    """Yield of each template that a start changes whether its pods wait until they are let go."""
    for place in places:
        gates = [] if place.template is None else list_at(job, (*place.template, *_GATES))
        yield not place.is_written or {"name": names.ELASTIC_JOB} in gates


def _written(job: Object, place: PodSetLocation) -> Object:
    template = charged_template(job, place)
    podset = written_podset(place.name, place.count, template, index=place.index)
    return with_min_count(podset, place.min_count)


def _decision_patch(decision: str) -> Object:
    return {"metadata": {"annotations": {names.DECISION: decision}}}


def _merge_objects(first: Object, other: Object) -> Object:
    assert not first.keys() & other.keys(), "they patch different parts"
    return {**first, **other}
