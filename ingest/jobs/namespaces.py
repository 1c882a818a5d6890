"""The namespaces there are: whether their jobs are managed, and which are being deleted."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ingest.jobs.scope import Scope
from tidegate.kinds.observed import Namespace


class _Known(msgspec.Struct, frozen=True):
    """What is known of a namespace."""

    uid: str
    labels: dict[str, str]
    closing: bool  # it is being deleted


class Namespaces:
    """The namespaces of the newest list, and of the watch behind it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._known = dict[str, _Known]()  # by name
        self._names = dict[str, str]()  # by uid

    def add(self, namespace: Namespace) -> bool:
        """Remember a namespace; return whether something may have changed for the jobs in it."""
        meta = namespace.metadata
        before = self.manages(meta.name), self.is_closing(meta.name)
        self._known[meta.name] = _Known(meta.uid, meta.labels, meta.is_deleting)
        self._names[meta.uid] = meta.name
        return (self.manages(meta.name), self.is_closing(meta.name)) != before

    def forget(self, uid: str) -> None:
        """Forget a deleted namespace, unless another has its name by now."""
        name = self._names.pop(uid, "")
        if name in self._known and self._known[name].uid == uid:
            del self._known[name]

    def retain(self, present: Collection[str]) -> None:
        """Forget the namespaces whose uids a list no longer has."""
        for uid in [uid for uid in self._names if uid not in present]:
            self.forget(uid)

    def manages(self, name: str) -> bool:
        """Return whether a namespace's jobs are managed."""
        labels = self._known[name].labels if name in self._known else None
        return self._scope.manages(name, labels)

    def is_closing(self, name: str) -> bool:
        """Return whether a namespace is being deleted."""
        return name in self._known and self._known[name].closing
