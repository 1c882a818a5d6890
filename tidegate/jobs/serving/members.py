"""Assigns pods to the jobs of an object that is queued through its pods.

A StatefulSet is one job; a LeaderWorkerSet is one for each group of its pods.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tidegate.jobs.job_status import PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import (
    COMPONENT_INDEX,
    JOB_OWNER_GVK,
    JOB_OWNER_NAME,
    MANAGER,
    MANAGER_UID,
)
from tidegate.model.ids import ObjectRef
from tidegate.model.texts import parse_whole


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a pod."""

    parent: str  # the object's name
    uid: str = ""  # the object's; empty: the pod does not name it
    index: int | None = None  # of the group; None: all pods are one job
    podset: str


class SetLayout(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a kind that is queued through its pods."""

    podset_locations: Callable[
        [Object], tuple[PodSetLocation, ...]
    ]  # of one of its jobs; raises UndecodableError
    replicas: Callable[[Object], int]  # of the object; raises UndecodableError
    membership: Callable[[ObjectMeta], Membership | None]  # None: it is no pod of the kind
    grouped: bool = False  # each replica is a group of pods, and a job


GROUPS_MAX = 2_000
"""More groups of one object than a cluster can have."""


def job_name(parent: str, index: int | None) -> str:
    """Return the name of a job; its Workload is named after it, as Kueue does."""
    return parent if index is None else f"{parent}-{index}"


def job_uid(parent: str, index: int | None) -> str:
    """Return the uid of a job, from that of its object."""
    return parent if index is None else f"{parent}.{index}"


def origin_uid(meta: ObjectMeta) -> str:
    """Return the uid that an object has on the manager that sent it; empty: none sent it.

    The Workloads of its groups are called by that uid, and came before it.
    Source: multikueue.md 3.2.
    """
    return meta.annotations.get(MANAGER_UID, "") if MANAGER in meta.labels else ""


def parent_uid(job: ObjectRef) -> str:
    """Return the uid of a job's object."""
    return object_uid(job.uid)


def object_uid(uid: str) -> str:
    """Return the uid of a job's object, from the job's own."""
    return uid.partition(".")[0]


def group_index(job: ObjectRef) -> int | None:
    """Return which group of its object a job is; None: its object is one job."""
    _, dot, index = job.uid.partition(".")
    return parse_whole(index) if dot else None


def owner_annotations(job: ObjectRef, index: int | None, gvk: str) -> dict[str, str]:
    """Return the annotations by which a Workload names the object of its job, and its group."""
    marks = {JOB_OWNER_GVK: gvk, JOB_OWNER_NAME: parent_name(job)}
    return marks if index is None else {**marks, COMPONENT_INDEX: str(index)}


def parent_name(job: ObjectRef) -> str:
    """Return the name of a job's object."""
    index = group_index(job)
    return job.name if index is None else job.name.removesuffix(f"-{index}")
