"""Objects that describe a job's pods, such as a runtime, and the jobs that refer to each.

They are no facts themselves. A job that refers to one that is not there waits behind a gate that
names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.job_metadata import asked, is_elastic
from tidegate.jobs.job_status import Loose
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds.meta import ObjectMeta


class Described(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object that is read whole by the kind whose jobs refer to it."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}


class Referred:
    """The existing objects by their paths, and the jobs that refer to them."""

    def __init__(self) -> None:
        self._objects = dict[str, Object]()
        self._paths = dict[str, tuple[str, str]]()  # by uid: collection and path
        self._jobs = dict[str, tuple[JobKind[Any], Loose]]()  # by uid
        self._by_path = defaultdict[str, dict[str, None]](dict)  # uids of jobs

    def take(self, collection: str, obj: Described | Loose) -> Iterator[tuple[JobKind[Any], Loose]]:
        """Remember an object; yield the jobs that refer to it."""
        path = _path(collection, obj.metadata)
        self._paths[obj.metadata.uid] = (collection, path)
        content = {"metadata": _version(obj.metadata), "spec": obj.spec}
        before, self._objects[path] = self._objects.get(path), content
        if before != self._objects[path]:
            yield from self._referring(path)

    def forget(self, uid: str) -> Iterator[tuple[JobKind[Any], Loose]]:
        """Forget an object that is gone; yield the jobs that refer to it."""
        _, path = self._paths.pop(uid, ("", ""))
        if self._objects.pop(path, None) is not None:
            yield from self._referring(path)

    def listed(
        self, collection: str, present: Collection[str]
    ) -> Iterator[tuple[JobKind[Any], Loose]]:
        """Forget the objects that a list no longer has; yield the jobs that refer to one."""
        uids = [uid for uid, (where, _) in self._paths.items() if where == collection]
        for uid in uids:
            if uid not in present:
                yield from self.forget(uid)

    def observe(self, kind: JobKind[Any], obj: Any) -> JobObserved:  # noqa: ANN401 - of the kind's own type
        """Observe a job with the objects that it refers to; errors as in ``JobKind.observe``."""
        if not isinstance(obj, Loose) or not kind.referred:
            observed: JobObserved = kind.observe(obj)
            return observed
        uid = obj.metadata.uid
        self.leave(uid)
        paths = kind.refers(obj.plain())
        self._jobs[uid] = (kind, obj)
        for path in paths:
            self._by_path[path][uid] = None
        present = [path for path in paths if path in self._objects]
        if kind.needs_referred and len(present) < len(paths):
            return waiting(kind, obj)
        beside = tuple(self._objects[path] for path in present)
        return kind.observe(msgspec.structs.replace(obj, beside=beside))

    def leave(self, uid: str) -> None:
        """Forget a job."""
        if self._jobs.pop(uid, None) is None:
            return
        for path in [path for path, uids in self._by_path.items() if uid in uids]:
            del self._by_path[path][uid]
            if not self._by_path[path]:
                del self._by_path[path]

    def _referring(self, path: str) -> Iterator[tuple[JobKind[Any], Loose]]:
        for uid in list(self._by_path.get(path, ())):
            if uid in self._jobs:  # it may have been deleted since the one before
                yield self._jobs[uid]


def waiting(kind: JobKind[Any], obj: Loose) -> JobObserved:
    """Return a job behind a gate for each object that it refers to, so that it is known of."""
    alone = asked(kind, obj.metadata)
    gates = tuple("/".join(path.split("/")[-2:]) for path in kind.refers(obj.plain()))
    state = kind.status_of(obj.metadata, obj.plain())
    return msgspec.structs.replace(
        alone,
        gates=(*alone.gates, *gates),
        elastic=is_elastic(obj.metadata.annotations),
        state=state,
    )


def _version(meta: ObjectMeta) -> Object:
    """Return the metadata of an object that identify the version of its spec."""
    return {"generation": meta.generation, "creationTimestamp": meta.creation_timestamp}


def _path(collection: str, meta: ObjectMeta) -> str:
    """Return the path of one object, from that of its collection over all namespaces."""
    if not meta.namespace:
        return f"{collection}/{meta.name}"
    root, _, plural = collection.rpartition("/")
    return f"{root}/namespaces/{meta.namespace}/{plural}/{meta.name}"
