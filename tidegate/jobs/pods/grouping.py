"""The pods of a pod group by state, and the group's identity."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import positive_int32
from tidegate.jobs.pods import pod as single
from tidegate.jobs.pods import pod_state
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta, true_condition
from tidegate.kinds.pods import Pod
from tidegate.model.texts import is_name

GROUP_SUFFIX = ".group"
"""Ends the uid of a group: no object's uid does."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group's pods, sorted by what they are to it; each in the order of their creation."""

    total: int
    members: tuple[Pod, ...]  # that live and count
    excess: tuple[Pod, ...]  # gated, and more than asked for
    succeeded: tuple[Pod, ...]
    failed: tuple[Pod, ...]  # those included that a stop has ended
    leaving: tuple[Pod, ...]  # being deleted, and not gone

    @property
    def is_started(self) -> bool:
        """Return whether any pod was ungated."""
        gated = all(pod_state.is_gated(member) for member in self.members)
        return not gated or bool(self.succeeded or self.failed)

    @property
    def is_complete(self) -> bool:
        """Return whether there are enough pods to start it."""
        fast = any(
            _has_true_annotation(member, names.POD_GROUP_FAST_ADMISSION) for member in self.members
        )
        return fast or len(self.members) + len(self.succeeded) >= self.total


def group_name(meta: ObjectMeta) -> str:
    """Return the name of the group that a pod is of; empty: it is alone.

    An annotation holds it where the name is too long for a label.
    """
    name = names.POD_GROUP_NAME
    return meta.labels.get(name, "") or meta.annotations.get(name, "")


def group_naming(meta: ObjectMeta) -> tuple[str, bool, bool]:
    """Return how a pod says of which group it is: only all pods of a group together change that."""
    by_label = names.POD_GROUP_NAME in meta.labels
    return group_name(meta), by_label, meta.labels.get(names.MANAGED) == "true"


def group_of(pods: Sequence[Pod]) -> Group:
    """Sort the pods of a group.

    Raises:
        UndecodableError: they do not agree on their queue or their number, or say none; or their
            group's name is none, for its Workload is called so.
    """
    name = group_name(pods[0].metadata)
    if not is_name(name):
        raise UndecodableError(f"{names.POD_GROUP_NAME} {name[:32]!r} is no name of a Workload.")
    totals = {pod.metadata.annotations.get(names.POD_GROUP_TOTAL_COUNT, "") for pod in pods}
    total = positive_int32(next(iter(totals)))
    if len(totals) != 1 or not total:
        raise UndecodableError(
            f"All pods of a group say the same positive number in {names.POD_GROUP_TOTAL_COUNT}."
        )
    if len({group_naming(pod.metadata) for pod in pods}) != 1:
        raise UndecodableError(
            f"All pods of a group name it by the label {names.POD_GROUP_NAME}, or all of them by "
            f"the annotation; and all have the label {names.MANAGED}, or none."
        )
    if len({pod.metadata.labels.get(names.QUEUE_NAME, "") for pod in pods}) != 1:
        raise UndecodableError(f"All pods of a group have the same {names.QUEUE_NAME}.")
    return sort_pods(pods, total)


def sort_pods(pods: Sequence[Pod], total: int) -> Group:
    """Sort the pods of a group of so many, whether or not they agree."""
    pods = sorted(pods, key=creation_order)
    ended = [pod for pod in pods if pod_state.is_finished(pod)]
    over = _uids(ended)
    living = [pod for pod in pods if pod.metadata.uid not in over and not pod.metadata.is_deleting]
    succeeded = tuple(pod for pod in ended if _succeeded(pod))
    living.sort(key=pod_state.is_gated)  # those that run come first, and the sort is stable
    slots = max(total - len(succeeded), 0)
    retained = [pod for at, pod in enumerate(living) if at < slots or not pod_state.is_gated(pod)]
    count = _uids(retained)
    return Group(
        total=total,
        members=tuple(retained),
        excess=tuple(pod for pod in living if pod.metadata.uid not in count),
        succeeded=succeeded,
        failed=tuple(pod for pod in ended if not _succeeded(pod)),
        leaving=tuple(
            pod for pod in pods if pod.metadata.uid not in over and pod.metadata.is_deleting
        ),
    )


def _succeeded(pod: Pod) -> bool:
    """Return whether a pod succeeded; a pod that a stop deletes never counts as succeeded."""
    target = true_condition(pod.status.conditions, single.TERMINATION_TARGET)
    return pod.status.phase == "Succeeded" and not (pod.metadata.is_deleting and target)


def _uids(pods: Sequence[Pod]) -> set[str]:
    return {pod.metadata.uid for pod in pods}


def group_uid(pods: Sequence[Pod]) -> str:
    """Return the group's uid: from its started pods, else from its first pod."""
    marks = sorted({pod.metadata.annotations.get(names.GROUP_UID, "") for pod in pods} - {""})
    return marks[0] if marks else f"{min(pods, key=creation_order).metadata.uid}{GROUP_SUFFIX}"


def podset_pods(group: Group) -> tuple[Pod, ...]:
    """Return the pods that show what the group asks for: without others, even those that failed."""
    return (*group.members, *group.succeeded) or (*group.failed, *group.leaving)


def has_fast_admission(group: Group) -> bool:
    """Return whether a group is admitted before all of its pods exist."""
    return any(
        _has_true_annotation(pod, names.POD_GROUP_FAST_ADMISSION) for pod in podset_pods(group)
    )


def is_serving(group: Group) -> bool:
    """Return whether a group never finishes."""
    return any(_has_true_annotation(pod, names.POD_GROUP_SERVING) for pod in podset_pods(group))


def _has_true_annotation(pod: Pod, annotation: str) -> bool:
    return pod.metadata.annotations.get(annotation) == "true"


def creation_order(pod: Pod) -> tuple[str, str]:
    """Return what a group's pods are sorted by: when they were made, and their names."""
    return pod.metadata.creation_timestamp or "", pod.metadata.name
