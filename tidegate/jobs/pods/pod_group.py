"""Pods that start together: a group by name, queued as one, its podsets the roles of its pods.

A group has no object of its own. It is whoever bears its name; once started, its pods carry its
uid, so that it stays the same group whichever of them are replaced.

Source: behaviour.md 16, Pod group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs.job_metadata import asked, positive
from tidegate.jobs.job_status import PODSETS_MAX
from tidegate.jobs.kind import Delete, JobKind, Members, Object, Refused, Start, Step, Stop
from tidegate.jobs.pods import pod as single
from tidegate.jobs.pods.pod_roles import alike, role
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.kinds.podsets import pod_set
from tidegate.model.numbers import whole
from tidegate.model.podset import PodSet

NAME = "pod-group"
INCOMPLETE = "tidegate.dev/pod-group-incomplete"
"""Gates a group that was whole and lost pods before it started."""
_GONE = Refused(reason="gone", message="Another group has its name.")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group's pods, sorted by what they are to it; each in the order of their creation."""

    total: int
    members: tuple[Pod, ...]  # that live and count
    excess: tuple[Pod, ...]  # gated, and more than asked for
    succeeded: tuple[Pod, ...]
    failed: tuple[Pod, ...]
    leaving: tuple[Pod, ...]  # being deleted, and not gone

    @property
    def is_started(self) -> bool:
        """Tell whether any pod was let go."""
        held = all(single.is_gated(one) for one in self.members)
        return not held or bool(self.succeeded or self.failed)

    @property
    def is_whole(self) -> bool:
        """Tell whether there are enough pods to start it."""
        fast = any(_says(one, names.POD_GROUP_FAST_ADMISSION) for one in self.members)
        return fast or len(self.members) + len(self.succeeded) >= self.total


def group_name(meta: ObjectMeta) -> str:
    """Return the name of the group that a pod is of; empty: it is alone.

    An annotation says it where the name is too long for a label.
    """
    name = names.POD_GROUP_NAME
    return meta.labels.get(name, "") or meta.annotations.get(name, "")


def grouped(pods: Sequence[Pod]) -> Group:
    """Sort the pods of a group.

    Raises:
        UndecodableError: they do not agree on their queue or their number, or say none.
    """
    pods = sorted(pods, key=_age)
    totals = {one.metadata.annotations.get(names.POD_GROUP_TOTAL_COUNT, "") for one in pods}
    total = positive(next(iter(totals)))
    if len(totals) != 1 or not total:
        raise UndecodableError(
            f"All pods of a group say the same positive number in {names.POD_GROUP_TOTAL_COUNT}."
        )
    if len({one.metadata.labels.get(names.QUEUE_NAME, "") for one in pods}) != 1:
        raise UndecodableError(f"All pods of a group have the same {names.QUEUE_NAME}.")
    ended = [one for one in pods if single.is_finished(one)]
    over = _uids(ended)
    living = [one for one in pods if one.metadata.uid not in over and not one.metadata.deleting]
    succeeded = tuple(one for one in ended if one.status.phase == "Succeeded")
    living.sort(key=single.is_gated)  # those that run come first, and the sort is stable
    room = max(total - len(succeeded), 0)
    kept = [one for at, one in enumerate(living) if at < room or not single.is_gated(one)]
    count = _uids(kept)
    return Group(
        total=total,
        members=tuple(kept),
        excess=tuple(one for one in living if one.metadata.uid not in count),
        succeeded=succeeded,
        failed=tuple(one for one in ended if one.status.phase != "Succeeded"),
        leaving=tuple(
            one for one in pods if one.metadata.uid not in over and one.metadata.deleting
        ),
    )


def _uids(pods: Sequence[Pod]) -> set[str]:
    return {one.metadata.uid for one in pods}


def group_uid(pods: Sequence[Pod]) -> str:
    """Return who the group is: what its started pods say, else after its first pod."""
    marks = sorted({one.metadata.annotations.get(names.GROUP_UID, "") for one in pods} - {""})
    return marks[0] if marks else f"{min(pods, key=_age).metadata.uid}.group"


def observe_group(pods: Sequence[Pod], version: int, *, was_whole: bool) -> JobObserved:
    """Observe a group; errors as in ``grouped``.

    One that is not whole yet is not queued; one that was, and lost pods, waits behind a gate, which
    says nothing to a group that runs.
    """
    group, first = grouped(pods), min(pods, key=_age)
    alone = asked(KIND, first.metadata)
    if alone.prebuilt:
        raise NotSupportedError(
            f"Groups of pods have no prebuilt workloads: remove {names.PREBUILT_WORKLOAD}, and "
            "the Workload is made from the pods."
        )
    seen = msgspec.structs.replace(
        alone,
        name=group_name(first.metadata),
        uid=group_uid(pods),
        version=version,
        workload=f"{first.metadata.namespace}/{group_name(first.metadata)}",
    )
    if not (group.is_whole or group.is_started or was_whole):
        return msgspec.structs.replace(seen, queue="")
    ended = _is_finished(group)
    return msgspec.structs.replace(
        seen,
        pod_priority_class=first.spec.priority_class_name,
        podsets=_podsets(group),
        gates=seen.gates if group.is_whole else (*seen.gates, INCOMPLETE),
        reclaimable={} if _serves(group) else dict(Counter(map(role, group.succeeded))),
        finished="Succeeded" if ended else "",
        message=f"Pods succeeded: {len(group.succeeded)}/{group.total}." if ended else "",
        state=_state(group),
    )


def start_members(start: Start, pods: Sequence[Object]) -> list[tuple[Object, Step]]:
    """Return what each pod of a group needs to start; those too many are deleted."""
    read_pods = {one["metadata"]["uid"]: read(one, Pod) for one in pods}
    if group_uid(list(read_pods.values())) != start.order.job.uid:
        return [(pods[0], _GONE)]
    group = grouped(list(read_pods.values()))
    given = {podset.name: podset for podset in start.order.podsets}
    marks = {names.GROUP_UID: start.order.job.uid}
    steps: list[tuple[Object, Step]] = []
    for pod in pods:
        seen = read_pods[pod["metadata"]["uid"]]
        name = role(seen)
        if seen in group.excess:
            steps.append((pod, Delete()))
        elif seen in group.members and name in given:
            step = single.started(start, pod, given[name], marks | {names.ROLE_HASH: name})
            steps.append((pod, step))
        elif seen in group.members:
            message = f"Pod {seen.metadata.name} is of a role that was not admitted: {name}."
            steps.append((pod, Refused(reason="invalid", message=message)))
    return steps


def stop_members(stop: Stop, pods: Sequence[Object]) -> list[tuple[Object, Step]]:
    """Return what each pod of a group needs to stop.

    One that ended is marked as well: when no other is left, it is the proof of the stop.
    """
    if group_uid([read(one, Pod) for one in pods]) != stop.order.job.uid:
        return [(pods[0], _GONE)]
    return [(pod, _stopping(stop, pod)) for pod in pods]


def podsets(group: Object) -> list[Object]:
    """See ``JobKind.podsets``; the object is a list of pods under ``items``."""
    written = {one["metadata"]["uid"]: one for one in group["items"]}
    found = grouped([read(one, Pod) for one in written.values()])
    everybody = _counted(found)
    result: list[Object] = []
    for podset in _podsets(found):
        like = next(one for one in everybody if _fast(found) or role(one) == podset.name)
        result.append(single.written(written[like.metadata.uid], podset.name, podset.count))
    return result


def _stopping(stop: Stop, pod: Object) -> Step:
    ended = pod.get("status", {}).get("phase") in single.OUTCOMES
    return single.marked(stop, pod) if ended else single.stop(stop, pod, 0.0)


def _podsets(group: Group) -> tuple[PodSet, ...]:
    counted = _counted(group)
    if _fast(group):
        first = counted[0]
        alike(role(first), counted)
        return (pod_set(single.template(first), name=role(first), count=group.total),)
    named = [(role(one), one) for one in counted]
    roles = dict(reversed(named))
    counts = Counter(name for name, _ in named)
    if len(roles) > PODSETS_MAX:
        raise UndecodableError(f"Its pods have {len(roles)} roles; {PODSETS_MAX} are the most.")
    for name in roles:
        alike(name, [one for each, one in named if each == name])
    return tuple(
        pod_set(single.template(roles[name]), name=name, count=counts[name])
        for name in sorted(roles)
    )


def _state(group: Group) -> JobState:
    present = (*group.members, *group.leaving)
    told = present or (*group.succeeded, *group.failed)
    decisions = [one.metadata.annotations.get(names.DECISION, "") for one in told]
    held = any(single.is_gated(one) for one in group.members)
    running = [one for one in group.members if not single.is_gated(one)]
    return JobState(
        suspended=held or not group.members,
        started=bool(running),
        active=sum(single.is_active(one) for one in present),
        ready=sum(single.is_ready(one) for one in running),
        succeeded=len(group.succeeded),
        decision=min(decisions, key=_seq) if decisions else "",
    )


def _is_finished(group: Group) -> bool:
    if _serves(group):
        return False
    active = any(single.is_active(one) for one in (*group.members, *group.leaving))
    everybody = (*group.members, *group.succeeded, *group.failed)
    final = any(
        one.metadata.annotations.get(names.RETRIABLE_IN_GROUP) == "false" for one in everybody
    )
    done = len(group.succeeded) >= group.total
    return done or (final and not active and bool(group.failed or group.succeeded))


def _counted(group: Group) -> tuple[Pod, ...]:
    """Return the pods that show what the group asks for: without others, even those that failed."""
    return (*group.members, *group.succeeded) or (*group.failed, *group.leaving)


def _fast(group: Group) -> bool:
    return any(_says(one, names.POD_GROUP_FAST_ADMISSION) for one in _counted(group))


def _serves(group: Group) -> bool:
    return any(_says(one, names.POD_GROUP_SERVING) for one in _counted(group))


def _says(pod: Pod, annotation: str) -> bool:
    return pod.metadata.annotations.get(annotation) == "true"


def _age(pod: Pod) -> tuple[str, str]:
    return pod.metadata.creation_timestamp or "", pod.metadata.name


def _seq(decision: str) -> int:
    _, _, seq = decision.rpartition("/")
    return whole(seq) or 0


def _alone(pod: Pod) -> JobObserved:
    raise UndecodableError(f"Pod {pod.metadata.name} is looked at with its group.")


def _refused(*_: object) -> Step:
    return Refused(reason="invalid", message="A group is started and stopped as a whole.")


KIND = JobKind(
    name=NAME,
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    seen=Pod,
    observe=_alone,
    start=_refused,
    stop=_refused,
    standing=single.standing,
    podsets=podsets,
    asks=single.is_marked,
    finalizer=names.MANAGED,
    owns=False,
    optional=False,
    members=Members(label=names.POD_GROUP_NAME, start=start_members, stop=stop_members),
)
