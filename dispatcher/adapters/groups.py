"""A group of pods on a worker cluster: which of its pods are sent there, and how each is made.

Pure. Source: multikueue.md 3.2, Pod.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatcher.adapters.jobs import remote_job
from tidegate.jobs.kind import Object
from tidegate.jobs.pods import pod
from tidegate.jobs.pods.grouping import group_of
from tidegate.jobs.pods.pod_roles import role
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod


def pods_to_send(pods: Sequence[Pod]) -> set[str]:
    """Return the names of the pods that a worker cluster should have.

    Those that succeeded elsewhere run again, as the pods of a Job do; those that failed wait for
    others in their places, and those too many are deleted here.

    Raises:
        UndecodableError: the pods do not agree on their group.
    """
    group = group_of(pods)
    return {member.metadata.name for member in (*group.members, *group.succeeded)}


def remote_pod(local: Object, workload: str, origin: str) -> Object:
    """Return the copy of a pod of a group: it says which pod it is, and in which podset."""
    copied = remote_job(pod.KIND, local, workload, origin)
    marks = {names.MANAGER_UID: local["metadata"]["uid"], names.ROLE_HASH: role(read(local, Pod))}
    copied["metadata"]["annotations"] |= marks
    return copied


def is_copy_of(remote: Object, local: Object) -> bool:
    """Return whether a pod was made of this one, and not of one that had its name before."""
    notes = remote["metadata"].get("annotations") or {}
    uid = local["metadata"]["uid"]
    return bool(notes.get(names.MANAGER_UID, uid) == uid)
