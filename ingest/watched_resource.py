"""A resource that ingest lists and watches, and its objects reduced to observations.

Each is a row of the table in ``ingest.resources``. A malformed object is refused, others go on.
What an object changes is reduced slice by slice, between which other events are processed: a tenant
may have thousands of jobs that one write changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import msgspec

from ingest.definitions import identity, refusal_of
from ingest.jobs.ownership import ResourceObservation
from ingest.metrics import Metrics
from tidegate.contracts.observations import JobObserved, Observed
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import FAILURES, Noted, Unreadable, error_text
from tidegate.kinds.meta import ObjectMeta
from tidegate.service.logs import get_log

SLICE = 32
"""At most so many observations are reduced in a row."""
_log = get_log("reduce")


class WatchedResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that is listed and watched."""

    resource: str  # as rounds and subjects call it, e.g. "jobs.batch"
    path: str  # of the collection, over all namespaces
    kind: type[Any]  # what an object is decoded into
    observe: Callable[[Any], Iterable[ResourceObservation]]
    """Reduce an object, leaving session and round empty; raises errors of ``tidegate.errors``."""
    unreadable: Callable[[ObjectMeta, Object, str], JobObserved | None] = lambda _m, _o, _why: None
    """Return the observation of a malformed job, with the cause; None for other objects."""
    gone: Callable[[str, int], Iterable[ResourceObservation]] = lambda _uid, _version: ()
    """Return what else the deletion of an object, at a version, changes."""
    listed: Callable[[Collection[str], int], Iterable[ResourceObservation]] = (
        lambda _present, _version: ()
    )
    """Learn which uids a list of a version had; return what else that changes."""
    present: Callable[[Collection[str]], Iterable[str]] = lambda listed: listed
    """Return the uids that are published under the resource, for a list's uids."""
    changed_jobs: Callable[[], Iterator[ResourceObservation]] = lambda: iter(())
    """Yield what the events of a batch, all observed by then, change together."""
    expired: Callable[[], Iterable[Any]] = lambda: ()
    """Yield objects that count as changed by now though the cluster shows them as they were."""
    noted: Noted | None = None  # hears of each object that a watch brings, before it is observed
    noted_listed: Noted | None = None  # the same of a list
    optional: bool = False  # its CRD may be missing, and is waited for without stopping the clock
    timeless: bool = False  # nothing is stopped by its time running out: the clock may go on
    select: Mapping[str, str] = {}  # the selectors of its lists and watches
    needed: asyncio.Event | None = None  # set once it is to be watched; None: it is at all times
    published: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Set once a whole list of it was published."""
    wide: bool = False  # it has no observations but of others, which one of its objects may change
    summed: bool = False  # its objects are not published, only sums by ``observe``


@dataclass(frozen=True, slots=True)
class Reducer:
    """Reduces the objects of one resource to observations; raises nothing."""

    watched: WatchedResource
    metrics: Metrics

    def reduce(self, obj: Any) -> Iterator[list[ResourceObservation]]:  # noqa: ANN401 - of the resource's kind
        """Yield the observations of a present object, and those of others that it changes."""
        if isinstance(obj, Unreadable):
            yield [self._refusal(obj, obj.error)]
            return
        try:
            yield from self._batches(self.watched.observe(obj))
        except TidegateError as error:
            yield [self._refusal(obj, error_text(error))]
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.exception("not observed", resource=self.watched.resource, uid=obj.metadata.uid)
            yield [self._refusal(obj, f"{type(error).__name__}: {error_text(error)}")]

    def reduce_deletion(
        self, meta: ObjectMeta, failed: Callable[[], None]
    ) -> Iterator[list[ResourceObservation]]:
        """Yield what else a deletion changes; ``failed`` is called if that is not all."""
        try:
            yield from self._batches(self.watched.gone(meta.uid, meta.version))
        except Exception:  # noqa: BLE001 - of one object: the next list tells what this did not
            self.metrics.observations.labels(self.watched.resource, "failed").inc()
            _log.exception("not forgotten", resource=self.watched.resource, uid=meta.uid)
            failed()

    def _batches(
        self, observations: Iterable[ResourceObservation]
    ) -> Iterator[list[ResourceObservation]]:
        remaining = iter(observations)
        while few := list(islice(remaining, SLICE)):
            yield few

    def _refusal(self, obj: Any, error: str) -> ResourceObservation:  # noqa: ANN401 - of the kind, or Unreadable
        resource, meta = self.watched.resource, obj.metadata
        self.metrics.observations.labels(resource, "refused").inc()
        try:
            job = self.watched.unreadable(meta, _as_json(obj), error)
        except Exception:  # noqa: BLE001 - of one object: its refusal is published all the same
            _log.exception("not described", resource=resource, uid=meta.uid)
            job = None
        return resource, refusal_of(resource, Observed(**identity(meta)), error, job)


def _as_json(obj: Any) -> Object:  # noqa: ANN401 - of a resource's kind, or Unreadable
    if not isinstance(obj, Unreadable):
        return cast("Object", msgspec.to_builtins(obj))
    try:
        return msgspec.json.decode(obj.body, type=Object)
    except FAILURES:
        return {}
