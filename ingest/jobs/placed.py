"""Jobs that run as copies in another cluster: their bodies at home, and their copies there.

A body and a copy's status contain the whole object, unknown fields included, so they are taken from
the bytes as received; bytes that are not published are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from random import Random
from typing import Any

import msgspec

from ingest.jobs.bodies import Bodies
from ingest.jobs.ownership import ResourceObservation
from ingest.watched_resource import WatchedResource
from tidegate.bus.ports import BodyWriter
from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.clusters import STATUS_BYTES_MAX, CopySeen
from tidegate.errors import NotSupportedError, TidegateError, UndecodableError
from tidegate.jobs.job_metadata import stray_job, unmanaged_job
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.placed.body import body_of, status_text
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES, error_text
from tidegate.kinds.meta import ObjectMeta
from tidegate.model.clusters import PLACEABLE
from tidegate.model.texts import is_name

_MARKS = (names.PLACED.encode(), names.ORIGIN.encode())
FORGED = f"It asks for a queue and is marked as another cluster's job ({names.ORIGIN}): remove one."
_ORIGIN_MAX = 384
"""Characters of an origin: a uid and a cluster's name are fewer."""


class _JobBody(msgspec.Struct, frozen=True):
    """The data of a job that may be placed."""

    digest: str  # empty: it has no body
    problem: str = ""  # why not


class PlacedJobs:
    """Bodies and copies of one process's watches, by uid."""

    def __init__(self, keeper: BodyWriter, random: Random) -> None:
        self.stored = Bodies(keeper, random)
        self._resources = dict[str, str]()  # of those that are known here at all
        self._bodies = dict[str, _JobBody]()
        self._statuses = dict[str, str]()  # of copies

    def record_bytes(
        self, kind: JobKind[Any], meta: ObjectMeta, text: bytes, *, listed: bool = False
    ) -> None:
        """Read an object's bytes as received, before it is observed; raises nothing.

        With each list a body is stored once more: the bus may have lost it.
        """
        self.forget(meta.uid)
        if not any(mark in text for mark in _MARKS):  # nearly all
            return
        self._resources[meta.uid] = kind.resource
        try:
            self._record_object(
                kind, meta, msgspec.json.decode(text, type=dict[str, Any]), listed=listed
            )
        except (*FAILURES, TidegateError) as error:
            self._bodies[meta.uid] = _JobBody("", error_text(error))

    def _record_object(
        self, kind: JobKind[Any], meta: ObjectMeta, obj: Object, *, listed: bool
    ) -> None:
        if is_copy(meta):
            self._statuses[meta.uid] = status_text(obj, STATUS_BYTES_MAX)
        elif kind.managed_by is not None and kind.managed_by.other_controller(obj) == names.PLACED:
            if kind.name not in PLACEABLE:
                raise NotSupportedError(
                    f"A job of the kind {kind.name} cannot run in another cluster: remove "
                    f"managedBy {names.PLACED}."
                )
            body = body_of(kind, obj)
            if kind.terminal_phase(obj):
                self._bodies[meta.uid] = _JobBody(self.stored.queue_removal(meta.uid, body))
                return
            state = kind.status_of(meta, obj)
            runs = state.started or state.active > 0  # only a batch Job says that it started
            digest = self.stored.queue_body(
                meta.uid, meta.namespace, body, listed=listed, runs=runs
            )
            self._bodies[meta.uid] = _JobBody(digest)

    def require_body(self, uid: str) -> None:
        """Demand that a job that may be placed has a body.

        Raises:
            UndecodableError: it has none, and why.
        """
        body = self._bodies.get(uid)
        if body is not None and body.problem:
            raise UndecodableError(body.problem)

    def with_body_digest(self, observation: JobObserved) -> JobObserved:
        """Return a managed job's observation with its body's digest, if it may be placed."""
        body = self._bodies.get(observation.uid)
        if body is None or not observation.queue:
            return observation
        return msgspec.structs.replace(observation, body=body.digest)

    def observe_copy(self, kind: JobKind[Any], obj: Any) -> JobObserved:  # noqa: ANN401 - of the kind's own type
        """Return the observation of a copy: its state, its requests, and its origin.

        An object with a queue name of its own, which no copy has, must not run as a job of this
        cluster: where no policy protects the marks of a copy, any user may write them.
        """
        meta: ObjectMeta = obj.metadata
        observation = _state_only(kind, obj)
        queue, origin = (meta.annotations.get(n, "") for n in (names.ORIGIN_QUEUE, names.ORIGIN))
        copy = CopySeen(origin=origin, status=self._statuses.get(meta.uid, ""))
        if not is_name(queue):  # an annotation may hold anything, at any length
            queue = ""
        goes_on = observation.stray is None and not observation.finished
        if goes_on and meta.labels.get(names.QUEUE_NAME):
            observation = msgspec.structs.replace(observation, stray="Unreadable", message=FORGED)
        return msgspec.structs.replace(observation, queue=queue, copy=copy)

    def forget(self, uid: str) -> None:
        """Forget an object's last state."""
        self._bodies.pop(uid, None)
        self._statuses.pop(uid, None)

    def drop_object(self, uid: str) -> None:
        """Forget an object that is gone."""
        self.forget(uid)
        self.stored.drop_body_of(uid)
        self._resources.pop(uid, None)

    def listed(self, resource: str, present: Collection[str]) -> None:
        """Forget the objects that a list of their resource no longer has."""
        for uid, its_resource in list(self._resources.items()):
            if its_resource == resource and uid not in present:
                self.drop_object(uid)


def is_copy(meta: ObjectMeta) -> bool:
    """Return whether an object says that it is the copy of a placed job."""
    return 0 < len(meta.annotations.get(names.ORIGIN, "")) <= _ORIGIN_MAX


def _state_only(kind: JobKind[Any], obj: Any) -> JobObserved:  # noqa: ANN401 - of the kind's own type
    """Return how an object stands that is no workload itself, even if it cannot be read."""
    meta: ObjectMeta = obj.metadata
    identity = unmanaged_job(kind, meta)
    try:
        whole = kind.observe(obj)
    except TidegateError as error:
        plain: Object = msgspec.to_builtins(obj)
        observation = stray_job(kind, meta, plain, "Unreadable", str(error))
        return (
            observation if observation.stray else msgspec.structs.replace(observation, message="")
        )
    fields = {"state": whole.state, "finished": whole.finished, "message": whole.message}
    return msgspec.structs.replace(identity, podsets=whole.podsets, **fields)


def with_placed(
    row: WatchedResource,
    kind: JobKind[Any],
    placed: PlacedJobs | None,
    owns: Callable[[JobKind[Any], ObjectMeta], Iterator[ResourceObservation]],
) -> WatchedResource:
    """Return a kind's watch with the bodies of its jobs and the copies of others'.

    Kinds that no other controller may run have neither. ``owns`` remembers an object that may own
    others, and yields those.
    """
    if placed is None or kind.managed_by is None:
        return row

    def note(obj: Any, text: bytes, *, listed: bool = False) -> None:  # noqa: ANN401 - of its kind
        placed.record_bytes(kind, obj.metadata, text, listed=listed)

    def observe(obj: Any) -> Iterator[ResourceObservation]:  # noqa: ANN401 - of its kind
        if is_copy(obj.metadata):
            yield kind.resource, placed.observe_copy(kind, obj)
            yield from owns(kind, obj.metadata)
            return
        placed.require_body(obj.metadata.uid)
        yield from row.observe(obj)

    def gone(uid: str, version: int) -> Iterator[ResourceObservation]:
        placed.drop_object(uid)
        yield from row.gone(uid, version)

    def listed(present: Collection[str], version: int) -> Iterator[ResourceObservation]:
        placed.listed(kind.resource, present)
        yield from row.listed(present, version)

    changes = {"observe": observe, "gone": gone, "listed": listed}
    return msgspec.structs.replace(
        row, noted=note, noted_listed=partial(note, listed=True), **changes
    )
