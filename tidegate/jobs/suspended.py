"""Kinds that a field suspends: one engine for all of them, told by a ``Layout`` where things are.

A start unsuspends and puts in, in one patch. A stop takes steps: suspend, wait until nothing is
active, then restore, for most kinds refuse to change the template of what runs.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs.asking import asked
from tidegate.jobs.kind import (
    Done,
    JobKind,
    Object,
    Patch,
    Refused,
    Start,
    Step,
    Stop,
    Wait,
)
from tidegate.jobs.layout import (
    Layout,
    Loose,
    Place,
    Standing,
    model_podsets,
    template_at,
    with_template,
    without_made,
)
from tidegate.jobs.merging import difference
from tidegate.jobs.notes import before_start, decided_on, noted
from tidegate.jobs.paths import found_at, with_value
from tidegate.jobs.template import Added, conflicts, injected, restored
from tidegate.kinds import names

_POLL_S = 0.2


class PodSetNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a start changed of one podset."""

    added: Added = Added()
    made: tuple[str, ...] = ()  # objects that had to be made on the way to a part
    count: int | None = None  # as it was; None: not changed


Notes = dict[str, PodSetNote]
"""What stands in ``tidegate.dev/injected``, by podset."""


class Engine(msgspec.Struct, frozen=True):
    """The functions of a ``JobKind``, for one layout."""

    layout: Layout

    def observe(self, kind: JobKind[Loose], found: Loose) -> JobObserved:
        """See ``JobKind.observe``."""
        obj = found.plain()
        standing = self.layout.standing(obj)
        podsets = model_podsets(obj, self.layout.places(obj))
        classes = (self.layout.priority_class(obj), *(one.priority_class for one in podsets))
        return msgspec.structs.replace(
            asked(kind, found.metadata),
            pod_priority_class=next((name for name in classes if name), ""),
            podsets=podsets,
            reclaimable=standing.reclaimable,
            finished=standing.finished,
            message=standing.message,
            state=self._state(found, standing, sum(one.count for one in podsets)),
        )

    def start(self, start: Start, job: Object) -> Step:
        """See ``JobKind.start``: one patch unsuspends, puts in, notes and names the decision."""
        if decided_on(job, start.ledger_id) >= start.seq or self._standing(job).finished:
            return Done()
        before = self._without_injection(job)
        wanted = before if isinstance(before, Refused) else self._started(before, start)
        if isinstance(wanted, Refused):
            return wanted
        if wanted["spec"] != job["spec"]:
            if start.is_stale(job):
                return Refused(reason="stale", message="The job changed after this was decided.")
            if not self._is_suspended(job) and not self._only_unsuspends(job, wanted):
                return Patch(body=self._suspending(job))
        return Patch(body=difference(job, wanted))

    def stop(self, stop: Stop, job: Object, waited_s: float) -> Step:
        """See ``JobKind.stop``: suspend; wait until nothing is active; restore."""
        del waited_s  # nothing but its controller can end its pods
        seen, suspended = decided_on(job, stop.ledger_id), self._is_suspended(job)
        standing = self._standing(job)
        if seen > stop.seq or standing.finished or (seen == stop.seq and not suspended):
            return Done()  # unsuspended after our patch: that is news for a next decision
        if seen < stop.seq:
            return Patch(body=_merged(self._suspending(job), _marked(stop.decision)))
        if names.INJECTED not in job["metadata"].get("annotations", {}):
            return Done()
        if standing.active:
            return Wait(after_s=_POLL_S)
        before = self._without_injection(job)
        return before if isinstance(before, Refused) else Patch(body=difference(job, before))

    def podsets(self, job: Object) -> list[Object]:
        """See ``JobKind.podsets``."""
        before = self._without_injection(job)
        source = job if isinstance(before, Refused) else before
        return [_written(source, place) for place in self.layout.places(source)]

    def _state(self, found: Loose, standing: Standing, pods: int) -> JobState:
        meta = found.metadata
        suspended = found_at(found.plain(), self.layout.suspend) is True
        # A stop is done only when the template is as it was: until then the job counts as started.
        return JobState(
            suspended=suspended,
            started=suspended and names.INJECTED in meta.annotations,
            active=standing.active,
            ready=pods if standing.ready else 0,
            deleting=meta.deleting,
            decision=meta.annotations.get(names.DECISION, ""),
            generation=meta.generation,
        )

    def _started(self, before: Object, start: Start) -> Object | Refused:
        """Return the job as it should run, or why it cannot."""
        job, notes = before, Notes()
        for place in self.layout.places(before):
            given = start.given(place.name)
            if isinstance(given, Refused):
                return given
            problem = conflicts(template_at(before, place), given)
            if problem:
                return Refused(reason="invalid", message=problem)
            try:
                job, notes[place.name] = _placed(job, place, given)
            except UndecodableError as error:
                return Refused(reason="invalid", message=str(error))
        job = with_value(job, self.layout.suspend, value=False)
        changed = any(note != PodSetNote() for note in notes.values())
        return noted(job, start.decision, notes if changed else None)

    def _without_injection(self, job: Object) -> Object | Refused:
        """Return the job as its owner wrote it."""
        return before_start(job, Notes, self._restored)

    def _restored(self, job: Object, notes: Notes) -> Object:
        before = job
        for place in self.layout.places(job):
            note = notes.get(place.name, PodSetNote())
            template = restored(template_at(before, place), note.added)
            before = without_made(with_template(before, place, template)[0], note.made)
            if note.count is not None and place.count_path is not None:
                before = with_value(before, place.count_path, note.count)
        return before

    def _standing(self, job: Object) -> Standing:
        return self.layout.standing({"status": {}, **job})

    def _is_suspended(self, job: Object) -> bool:
        return found_at(job, self.layout.suspend) is True

    def _only_unsuspends(self, job: Object, wanted: Object) -> bool:
        same: Object = with_value(job, self.layout.suspend, value=False)
        return bool(same["spec"] == wanted["spec"])

    def _suspending(self, job: Object) -> Object:
        return difference(job, with_value(job, self.layout.suspend, value=True))


def _placed(job: Object, place: Place, given: PodSetStart) -> tuple[Object, PodSetNote]:
    template, added = injected(template_at(job, place), given)
    job, made = with_template(job, place, template)
    note = PodSetNote(added=added, made=made)
    if given.count < place.count and place.count_path is not None:
        note = msgspec.structs.replace(note, count=found_at(job, place.count_path))
        job = with_value(job, place.count_path, given.count)
    return job, note


def _written(job: Object, place: Place) -> Object:
    podset = {"name": place.name, "count": place.count, "template": template_at(job, place)}
    return podset if place.min_count is None else {**podset, "minCount": place.min_count}


def _marked(decision: str) -> Object:
    return {"metadata": {"annotations": {names.DECISION: decision}}}


def _merged(one: Object, other: Object) -> Object:
    assert not one.keys() & other.keys(), "they patch different parts"
    return {**one, **other}


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind is called."""

    name: str  # as Kueue's configuration calls it
    group: str
    version: str
    kind: str
    plural: str


def suspended_kind(who: Identity, layout: Layout) -> JobKind[Loose]:
    """Return the row of a kind that a field suspends."""
    engine = Engine(layout)

    def observe(found: Loose) -> JobObserved:
        return engine.observe(kind, found)

    kind = JobKind(
        **msgspec.structs.asdict(who),
        seen=Loose,
        observe=observe,
        start=engine.start,
        stop=engine.stop,
        podsets=engine.podsets,
    )
    return kind
