"""The owners of a job: only the topmost managed object of a chain of owners is queued.

Owners are followed over controller references to kinds that are watched, by uid. An owner that was
not seen yet may turn out to be managed, so what it owns is left alone until it is seen.

Source: behaviour.md 15.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from tidegate.contracts.observations import Stray
from tidegate.jobs.kind import JobKind
from tidegate.kinds.meta import ObjectMeta, OwnerReference

DEPTH_MAX = 10


class Ancestor(msgspec.Struct, frozen=True, kw_only=True):
    """An object that may own others."""

    resource: str
    owner: str  # uid of its own controller, if that is of a watched kind
    asks: bool  # to be managed
    waits: bool  # it is suspended


UNKNOWN = Ancestor(resource="", owner="", asks=True, waits=True)
"""The placeholder of an owner that was not observed: it may come, or may not exist."""


class Lineage:
    """The watched objects that may own others, by uid, and their dependents."""

    def __init__(self, kinds: Sequence[JobKind[Any]]) -> None:
        self._kinds = {(kind.group, kind.kind) for kind in kinds}
        self._seen = dict[str, Ancestor]()  # by uid
        self._children = dict[str, dict[str, None]]()  # uids by their owner's

    def knows(self, owner: OwnerReference) -> bool:
        """Return whether an owner is of a kind that is watched."""
        group, _, _ = owner.api_version.rpartition("/")
        return (group, owner.kind) in self._kinds

    def note(
        self, kind: JobKind[Any], meta: ObjectMeta, *, asks: bool, waits: bool
    ) -> Iterator[str]:
        """Remember an object; yield the uids of those below it if that may change for them."""
        owner = self.owner(meta)
        if owner and (kind.owns or asks):
            self._children.setdefault(owner, {})[meta.uid] = None
        if not kind.owns:
            return
        ancestor = Ancestor(resource=kind.resource, owner=owner, asks=asks, waits=asks and waits)
        if self._seen.get(meta.uid) != ancestor:
            self._seen[meta.uid] = ancestor
            yield from self._below(meta.uid)

    def is_child(self, kind: JobKind[Any], meta: ObjectMeta) -> bool:
        """Return whether it has a managed ancestor, or one that was not observed yet.

        No controller creates objects of its own kind: such an owner reference does not explain why
        a job should run on the quota of another.
        """
        above = self._managed_above(meta)
        return above is not None and (above == UNKNOWN or above.resource != kind.resource)

    def astray(self, kind: JobKind[Any], meta: ObjectMeta, *, asks: bool) -> Stray | None:
        """Return why an object that is no workload must not run; None: it may.

        Source: behaviour.md 15.1: it is kept suspended while its ancestor is not admitted.
        """
        above = self._managed_above(meta)
        if above is None or (above == UNKNOWN and not asks) or not above.waits:
            return None
        return "OwnerWaits" if above.resource == kind.resource else "OwnerMayWait"

    def _managed_above(self, meta: ObjectMeta) -> Ancestor | None:
        """Return the nearest managed ancestor; UNKNOWN where it was not observed."""
        owner = self.owner(meta)
        for _ in range(DEPTH_MAX):
            if not owner:
                return None
            above = self._seen.get(owner, UNKNOWN)
            if above.asks:
                return above
            owner = above.owner
        return None

    def forget(self, uid: str, owner: str = "") -> None:
        """Forget a deleted object; its dependents are deleted too, or observed again."""
        gone = self._seen.pop(uid, None)
        above = owner if gone is None else gone.owner
        siblings = self._children.get(above)
        if siblings is not None:
            siblings.pop(uid, None)
            if not siblings:
                del self._children[above]

    def listed(self, resource: str, present: Collection[str]) -> None:
        """Forget the objects of a resource that a list no longer has."""
        uids = [uid for uid, ancestor in self._seen.items() if ancestor.resource == resource]
        for uid in uids:
            if uid not in present:
                self.forget(uid)

    def owner(self, meta: ObjectMeta) -> str:
        """Return the uid of its controller, if that is of a watched kind."""
        owner = meta.controller()
        return owner.uid if owner is not None and self.knows(owner) else ""

    def _below(self, uid: str, depth: int = DEPTH_MAX) -> Iterator[str]:
        for child in list(self._children.get(uid, ())) if depth else ():
            yield child
            yield from self._below(child, depth - 1)
