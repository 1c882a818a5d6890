"""Kinds that a field suspends: one engine for all of them, told by a ``Layout`` where things are.

A start unsuspends and puts in, in one patch. A stop takes steps: suspend, wait until nothing is
active, then restore, for most kinds refuse to change the template of what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import asked, identified, is_elastic, state
from tidegate.jobs.job_status import JobStatus, Layout, Loose, Place, charged_at
from tidegate.jobs.kind import Done, JobKind, Object, Patch, Refused, Start, Step, Stop, Wait
from tidegate.jobs.suspending.model_podsets import model_podsets
from tidegate.jobs.templates.injected import before_start, decided_on, noted
from tidegate.jobs.templates.merging import difference
from tidegate.jobs.templates.paths import Path, found_at, listed_at, with_value
from tidegate.jobs.templates.placing import Note, known_note, placed, unplaced
from tidegate.jobs.templates.written import with_fewest, written_podset
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta

_POLL_S = 0.2
_GATES = ("spec", "schedulingGates")


class Engine(msgspec.Struct, frozen=True):
    """The functions of a ``JobKind``, for one layout."""

    layout: Layout
    suspend: Path  # the field that keeps an object from running while it is true

    def observe(self, kind: JobKind[Loose], found: Loose) -> JobObserved:
        """See ``JobKind.observe``."""
        obj = found.plain()
        if kind.managed_by is not None and kind.managed_by.is_elsewhere(obj):
            return identified(kind, found.metadata)
        standing = self.layout.standing(obj)
        places = self.layout.places(obj)
        podsets, elastic = model_podsets(obj, places), is_elastic(found.metadata.annotations)
        self.layout.check(podsets)
        classes = (self.layout.priority_class(obj), *(one.priority_class for one in podsets))
        seen = asked(kind, found.metadata)
        elsewhere = () if kind.managed_by is None else kind.managed_by.gates(obj)
        return msgspec.structs.replace(
            seen,
            gates=(*seen.gates, *standing.gates, *elsewhere),
            pod_priority_class=next((name for name in classes if name), ""),
            podsets=podsets,
            reclaimable={} if elastic else standing.reclaimable,
            elastic=elastic,
            ungated=elastic and not self._is_suspended(obj) and not all(_gated(obj, places)),
            finished=standing.finished,
            message=standing.message,
            state=self._state(found, standing, sum(one.count for one in podsets)),
        )

    def start(self, start: Start, job: Object) -> Step:
        """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
        if decided_on(job, start.ledger_id) >= start.seq or self.ended(job):
            return Done()
        if self._runs_elastically(job):  # its pods are let go by their gates
            return Patch(body=_marked(start.decision))
        before = self._before_start(job)
        wanted = self._started(before, start)
        if isinstance(wanted, Refused):
            return wanted
        if wanted["spec"] != job["spec"]:
            if start.is_stale(job):
                return Refused(reason="stale", message="The job changed after this was decided.")
            if not self._is_suspended(job) and not self._only_unsuspends(job, wanted):
                return Patch(body=self._suspending(job))
            prepared = self._prepared(job, wanted)
            if self.layout.writes_suspended and prepared["spec"] != job["spec"]:
                return Patch(body=difference(job, prepared))
        return Patch(body=difference(job, wanted))

    def stop(self, stop: Stop, job: Object, waited_s: float) -> Step:
        """See ``JobKind.stop``: suspend; wait until nothing is active; restore."""
        del waited_s  # nothing but its controller can end its pods
        seen, suspended = decided_on(job, stop.ledger_id), self._is_suspended(job)
        if seen > stop.seq or self.ended(job) or (seen == stop.seq and not suspended):
            return Done()  # unsuspended after our patch: that is news for a next decision
        if seen < stop.seq:
            return Patch(body=_merged(self._suspending(job), _marked(stop.decision)))
        if names.INJECTED not in job["metadata"].get("annotations", {}):
            return Done()
        if self._standing(job).active:
            return Wait(after_s=_POLL_S)
        return Patch(body=difference(job, self._before_start(job, stop.order.podsets)))

    def podsets(self, job: Object) -> list[Object]:
        """See ``JobKind.podsets``."""
        source = self._before_start(job)
        return [_written(source, place) for place in self.layout.places(source)]

    def stands(self, meta: ObjectMeta, job: Object) -> JobState:
        """See ``JobKind.standing``."""
        try:
            active = self._standing(job).active
        except UndecodableError:
            active = 1
        return state(meta, suspended=self._is_suspended(job), active=active)

    def ended(self, job: Object) -> str:
        """See ``JobKind.ended``."""
        try:
            return self._standing(job).finished
        except UndecodableError:
            return ""  # what cannot be read is stopped like what runs

    def _state(self, found: Loose, standing: JobStatus, pods: int) -> JobState:
        return state(
            found.metadata,
            suspended=self._is_suspended(found.plain()),
            active=standing.active,
            ready=pods if standing.ready else 0,
            sized=self.layout.sized(found.plain()),
        )

    def _started(self, before: Object, start: Start) -> Object | Refused:
        """Return the job as it should run, or why it cannot."""
        found = placed(self.layout, before, start)
        if isinstance(found, Refused):
            return found
        job, note = found
        job = with_value(job, self.suspend, value=False)
        return noted(job, start.decision, note if note != Note() else None)

    def _before_start(self, job: Object, given: tuple[PodSetStart, ...] = ()) -> Object:
        """Return the job as its owner wrote it; ``given``: what the ledger knows was put in."""
        known = lambda: known_note(self.layout, job, given)  # noqa: E731 - only if it is needed
        return before_start(job, Note, self._restored, known)

    def _prepared(self, job: Object, wanted: Object) -> Object:
        """Return a job with all of a start but that it runs, and without the decision to."""
        found: Object = with_value(wanted, self.suspend, value=True)
        decision = found_at(job, ("metadata", "annotations", names.DECISION))
        result: Object = with_value(found, ("metadata", "annotations", names.DECISION), decision)
        return result

    def _runs_elastically(self, job: Object) -> bool:
        """Tell whether an elastic job was started: its templates stay as they are."""
        annotations = job["metadata"].get("annotations", {})
        started = names.INJECTED in annotations and not self._is_suspended(job)
        return started and is_elastic(annotations)

    def _restored(self, job: Object, note: Note) -> Object:
        return unplaced(self.layout, job, note)

    def _standing(self, job: Object) -> JobStatus:
        return self.layout.standing({"status": {}, **job})

    def _is_suspended(self, job: Object) -> bool:
        return found_at(job, self.suspend) is True

    def _only_unsuspends(self, job: Object, wanted: Object) -> bool:
        same: Object = with_value(job, self.suspend, value=False)
        return bool(same["spec"] == wanted["spec"])

    def _suspending(self, job: Object) -> Object:
        return difference(job, with_value(job, self.suspend, value=True))


def _gated(job: Object, places: Iterable[Place]) -> Iterator[bool]:
    """Yield of each template that a start changes whether its pods wait until they are let go."""
    for place in places:
        gates = [] if place.template is None else listed_at(job, (*place.template, *_GATES))
        yield not place.is_written or {"name": names.ELASTIC_JOB} in gates


def _written(job: Object, place: Place) -> Object:
    template = charged_at(job, place)
    podset = written_podset(place.name, place.count, template, index=place.index)
    return with_fewest(podset, place.min_count)


def _marked(decision: str) -> Object:
    return {"metadata": {"annotations": {names.DECISION: decision}}}


def _merged(one: Object, other: Object) -> Object:
    assert not one.keys() & other.keys(), "they patch different parts"
    return {**one, **other}
