"""Resolves a name that a user gives to workloads: a workload's own name, or its job's."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import VariantCreated
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import WorkloadSubmitted

_BEGINNINGS = ("WorkloadSubmitted", "VariantCreated")


def names(entries: Iterable[Entry], text: str) -> list[str]:
    """Return the workloads that match a name, in the order of submission.

    ``text`` is a workload's key, ``NAME``, ``KIND/NAME``, ``NAMESPACE/NAME`` or
    ``NAMESPACE/KIND/NAME``; the kind may be its last part alone (``job`` for ``batch/job``).
    """
    parts = tuple(text.split("/"))
    workloads: dict[str, None] = {}
    for entry in entries:
        if entry.type not in _BEGINNINGS or parts[-1] not in entry.payload:
            continue
        event = decode(entry.payload)
        own = isinstance(event, WorkloadSubmitted) and parts in _spellings(event)
        created = isinstance(event, VariantCreated) and text == event.workload
        if isinstance(event, WorkloadSubmitted | VariantCreated) and (own or created):
            workloads[event.workload] = None
    return list(workloads)


def _spellings(event: WorkloadSubmitted) -> list[tuple[str, ...]]:
    namespace, name = event.job.namespace, event.job.name
    kind = tuple(event.job.kind.split("/"))
    kinds = {(), kind, kind[-1:]}
    return [
        tuple(event.workload.split("/")),
        *((*where, *each, name) for where in ((), (namespace,)) for each in sorted(kinds)),
    ]
