"""A resource that ingest lists and watches: a row of the table in ``ingest.resources``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ingest.jobs.ownership import ResourceObservation
from tidegate.contracts.observations import JobObserved
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import Noted
from tidegate.kinds.meta import ObjectMeta


class Watched(msgspec.Struct, frozen=True, kw_only=True):
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
    settle: Callable[[], Iterator[ResourceObservation]] = lambda: iter(())
    """Yield what the events of a batch, all observed by then, change together."""
    noted: Noted | None = None  # hears of each object that a watch brings, before it is observed
    noted_listed: Noted | None = None  # the same of a list
    optional: bool = False  # its CRD may be missing, and is waited for without stopping the clock
    timeless: bool = False  # nothing is stopped by its time running out: the clock may go on
    select: Mapping[str, str] = {}  # the selectors of its lists and watches
    needed: asyncio.Event | None = None  # set once it is to be watched; None: it is at all times
    published: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Set once a whole list of it was published."""
    wide: bool = False  # one of its objects may change any number of others: see ``Reducer``
    summed: bool = False  # its objects are not published, only sums by ``observe``
