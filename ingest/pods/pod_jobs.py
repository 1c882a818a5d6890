"""Which job of an object that is queued through its pods a pod is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tidegate.jobs.registry import SETS
from tidegate.jobs.serving.kinds import ServingSet
from tidegate.kinds.meta import ObjectMeta

Key: TypeAlias = tuple[str, str, str, str]
"""Kind, namespace and name of an object, and its uid where its pods name that."""
Part: TypeAlias = tuple[Key, int | None]
"""A job: an object, and which of its groups."""


def key_of(kind: str, meta: ObjectMeta) -> Key:
    """Return the key of an object of a kind."""
    uid = meta.uid if not SETS[kind].layout.grouped else ""
    return kind, meta.namespace, meta.name, uid


def part_of(sets: Mapping[str, ServingSet], meta: ObjectMeta) -> Part | None:
    """Return the job of a pod, of one of these kinds; None: it is of none."""
    for name, serving in sets.items():
        member = serving.layout.membership(meta)
        if member is not None:
            return (name, meta.namespace, member.parent, member.uid), member.index
    return None
