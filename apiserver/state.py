"""The objects, their versions and their history: what etcd is to a real API server.

Objects are values: readers must not change them, and each write stores a new one. A history
of each resource is kept within a bound; a watch is a place in it, so no watch needs a queue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

Object = dict[str, Any]
_BODY = msgspec.json.Encoder()


class Change(msgspec.Struct, frozen=True):
    """One object's step from one state to the next."""

    revision: int
    resource: str  # such as jobs.batch
    before: Object | None  # None: it was created
    after: Object | None  # None: it was removed
    body: bytes  # of ``after``, or the last state with the removal's version


class History:
    """The newest changes of one resource, up to a bound."""

    def __init__(self, count_max: int) -> None:
        self.count_max = count_max
        self.forgotten = 0  # a watch that resumes from before it gets 410
        self.dropped = 0  # the newest change that is not kept any more
        self._changes = list[Change]()
        self._revisions = list[int]()

    def add(self, change: Change) -> None:
        """Append a change; forget the oldest half when twice the bound is reached."""
        self._changes.append(change)
        self._revisions.append(change.revision)
        if len(self._changes) > 2 * self.count_max:
            self._drop_oldest(len(self._changes) - self.count_max)

    def changes_after(self, revision: int) -> list[Change]:
        """Return the changes after a revision, oldest first."""
        return self._changes[bisect_right(self._revisions, revision) :]

    def clear(self, revision: int) -> None:
        """Forget everything up to a revision."""
        self._drop_oldest(bisect_right(self._revisions, revision))
        self.forgotten = max(self.forgotten, revision)

    def _drop_oldest(self, count: int) -> None:
        if count:
            self.forgotten = self.dropped = self._revisions[count - 1]
            del self._changes[:count], self._revisions[:count]


class State:
    """Every object by resource, namespace and name; and the one counter of all versions."""

    def __init__(self, history_max: int) -> None:
        self.revision = 1
        self.listeners = list[Callable[[Change], None]]()
        self._history_max, self._compacted = history_max, 0
        self._objects = dict[str, dict[str, dict[str, Object]]]()
        self._bodies = dict[str, bytes]()  # by uid
        self._histories = dict[str, History]()

    def get(self, key: str, namespace: str, name: str) -> Object | None:
        """Return an object, or None; it is not to be changed."""
        return self._objects.get(key, {}).get(namespace, {}).get(name)

    def body(self, obj: Object) -> bytes:
        """Return the bytes of an object that is in the state."""
        return self._bodies[obj["metadata"]["uid"]]

    def items(self, key: str, namespace: str | None = None) -> Iterator[Object]:
        """Yield the objects of a resource, of one namespace or of all, in the order of names."""
        spaces = self._objects.get(key, {})
        for space in sorted(spaces) if namespace is None else [namespace]:
            named = spaces.get(space, {})
            yield from [named[name] for name in sorted(named)]

    def put(self, key: str, obj: Object) -> Object:
        """Write an object, which belongs to the state from now on, under the next version."""
        metadata = obj["metadata"]
        space = self._objects.setdefault(key, {}).setdefault(metadata.get("namespace", ""), {})
        before = space.get(metadata["name"])
        self.revision += 1
        metadata["resourceVersion"] = str(self.revision)
        space[metadata["name"]] = obj
        body = self._bodies[metadata["uid"]] = _BODY.encode(obj)
        self._notify(Change(self.revision, key, before, obj, body))
        return obj

    def remove(self, key: str, obj: Object) -> None:
        """Remove an object; watches get its last state with the next version."""
        metadata = obj["metadata"]
        before = self._objects[key][metadata.get("namespace", "")].pop(metadata["name"])
        self._bodies.pop(metadata["uid"])
        self.revision += 1
        gone = obj | {"metadata": metadata | {"resourceVersion": str(self.revision)}}
        self._notify(Change(self.revision, key, before, None, _BODY.encode(gone)))

    def history(self, key: str) -> History:
        """Return a resource's history; an empty one begins now."""
        if key not in self._histories:
            self._histories[key] = History(self._history_max)
            self._histories[key].clear(self._compacted)
        return self._histories[key]

    def compact(self) -> None:
        """Forget every history: a watch that resumes from before now gets 410."""
        self._compacted = self.revision
        for history in self._histories.values():
            history.clear(self.revision)

    def _notify(self, change: Change) -> None:
        self.history(change.resource).add(change)
        for listener in self.listeners:
            listener(change)
