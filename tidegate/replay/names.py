"""Resolves a name that a user gives to workloads: a workload's own name, or its job's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import VariantCreated
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import WorkloadSubmitted

_BEGINNINGS = ("WorkloadSubmitted", "VariantCreated")
_WORKLOAD, _WORKLOADS_GROUP = ("workload", "wl"), ("", "kueue.x-k8s.io")


class _TypedName(NamedTuple):
    """A name as kubectl writes it: ``[NAMESPACE/]TYPE[.GROUP]/NAME``."""

    namespace: str  # empty: any
    type: str  # in lower case and singular
    group: str  # empty: any
    name: str

    def matches(self, event: WorkloadSubmitted) -> bool:
        """Return whether it is the name of a workload or of its job."""
        namespace, _, name = event.workload.partition("/")
        if self.namespace not in {"", namespace}:
            return False
        if self.type in _WORKLOAD and self.group in _WORKLOADS_GROUP:
            return name == self.name
        group, _, kind = event.job.kind.rpartition("/")  # a kind may stand without its group
        of_group = not (self.group and group) or self.group == group
        return of_group and (kind, event.job.name) == (self.type, self.name)


def resolve_workloads(entries: Iterable[Entry], text: str) -> list[str]:
    """Return the workloads that match a name, in the order of submission.

    ``text`` is a workload's key, ``NAME``, ``KIND/NAME``, ``NAMESPACE/NAME`` or
    ``NAMESPACE/KIND/NAME``; the kind may be its last part alone (``job`` for ``batch/job``). What
    is none of these is read as kubectl writes it: ``job.batch/NAME``, ``jobs/NAME``.
    """
    parts, typed = tuple(text.split("/")), _parse_typed_name(text)
    exact, as_typed = dict[str, None](), dict[str, None]()
    for entry in entries:
        if entry.type not in _BEGINNINGS or parts[-1] not in entry.payload:
            continue
        event = decode(entry.payload)
        if isinstance(event, VariantCreated) and text == event.workload:
            exact[event.workload] = None
        elif isinstance(event, WorkloadSubmitted):
            if parts in _names_of_workload(event):
                exact[event.workload] = None
            elif typed is not None and typed.matches(event):
                as_typed[event.workload] = None
    return list(exact or as_typed)


def _parse_typed_name(text: str) -> _TypedName | None:
    *longer, namespace, kind, name = ("", "", *text.split("/"))
    if not kind or any(longer):
        return None
    return _TypedName(namespace, *type_and_group(kind), name)


def type_and_group(text: str) -> tuple[str, str]:
    """Return the type, in lower case and singular, and the group of ``TYPE[.GROUP]``."""
    word, _, group = text.lower().partition(".")
    return word.removesuffix("s"), group


def _names_of_workload(event: WorkloadSubmitted) -> list[tuple[str, ...]]:
    namespace, name = event.job.namespace, event.job.name
    kind = tuple(event.job.kind.split("/"))
    kinds = {(), kind, kind[-1:]}
    return [
        tuple(event.workload.split("/")),
        *((*where, *each, name) for where in ((), (namespace,)) for each in sorted(kinds)),
    ]
