"""Pods that start together: a group by name, queued as one, its podsets the roles of its pods.

A group has no object of its own: its pods share its name label; once started, they carry its
uid, so that it stays the same group whichever of them are replaced. Pods that a stop deletes are
kept by Kueue's finalizer, so that the group and its Workload wait for others in their places.

Called: Pods with ``kueue.x-k8s.io/pod-group-name``; enabled with ``pod``
Podsets: one a role: pods of the same shape
Put in: as for a Pod
Restored: as for a Pod
Topology: by the label that ``kueue.x-k8s.io/pod-group-pod-index-label`` names

Source: behaviour.md 16, Pod group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import managed_job, prebuilt_workload_name
from tidegate.jobs.kind import Delete, Members, Object, Refused, Start, Step, Stop
from tidegate.jobs.pods import pod as single
from tidegate.jobs.pods import pod_state
from tidegate.jobs.pods.group_state import group_state, is_group_finished
from tidegate.jobs.pods.grouping import (
    Group,
    creation_order,
    group_name,
    group_of,
    group_uid,
    has_fast_admission,
    is_serving,
    podset_pods,
)
from tidegate.jobs.pods.pod_roles import check_same_requests, pod_podset, pod_template, role
from tidegate.jobs.templates.podsets import PODSETS_MAX
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.kinds.podsets import pod_set
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSet

NAME = "pod-group"
_LABEL_MAX = 63
_GONE = Refused(reason="gone", message="Another group has its name.")


def observe_group(pods: Sequence[Pod], version: int, *, was_whole: bool) -> JobObserved:
    """Observe a group; errors as in ``group_of``.

    One that is not whole yet is not queued, and names no Workload: until then that waits by itself.
    One that was whole, and lost pods, waits behind a gate, which does not change a running group.
    """
    group, first = group_of(pods), min(pods, key=creation_order)
    alone = managed_job(KIND, first.metadata)
    _check_prebuilt(pods, alone.prebuilt)
    observation = msgspec.structs.replace(
        alone,
        name=group_name(first.metadata),
        uid=group_uid(pods),
        version=version,
        workload=f"{first.metadata.namespace}/{group_name(first.metadata)}",
    )
    if not (group.is_complete or group.is_started or was_whole):
        apart = alone if alone.prebuilt else observation
        return msgspec.structs.replace(observation, queue="", prebuilt="", workload=apart.workload)
    ended, podsets = is_group_finished(group), _podsets(group)
    classes = (podset.priority_class for podset in podsets)
    return msgspec.structs.replace(
        observation,
        pod_priority_class=next((name for name in classes if name), ""),
        podsets=podsets,
        gates=observation.gates if group.is_complete else (*observation.gates, INCOMPLETE),
        reclaimable={} if is_serving(group) else dict(Counter(map(role, group.succeeded))),
        finished="Succeeded" if ended else "",
        message=f"Pods succeeded: {len(group.succeeded)}/{group.total}." if ended else "",
        state=group_state(group),
    )


def _check_prebuilt(pods: Sequence[Pod], prebuilt: str) -> None:
    metas = [pod.metadata for pod in pods]
    if any(prebuilt_workload_name(meta.labels, meta.annotations) != prebuilt for meta in metas):
        raise UndecodableError(f"All pods of a group name the same {names.PREBUILT_WORKLOAD}.")


def start_members(start: Start, pods: Sequence[Object]) -> list[tuple[Object, Step]]:
    """Return what each pod of a group needs to start; those too many are deleted."""
    read_pods = {pod["metadata"]["uid"]: read(pod, Pod) for pod in pods}
    if group_uid(list(read_pods.values())) != start.order.job.uid:
        return [(pods[0], _GONE)]
    group = group_of(list(read_pods.values()))
    by_name = {podset.name: podset for podset in start.order.podsets}
    marks = {names.GROUP_UID: start.order.job.uid}
    steps: list[tuple[Object, Step]] = []
    for pod in pods:
        typed = read_pods[pod["metadata"]["uid"]]
        name = role(typed)
        if typed in group.excess:
            steps.append((pod, Delete()))
        elif typed in group.members and name in by_name:
            step = single.start_step(start, pod, by_name[name], marks | {names.ROLE_HASH: name})
            steps.append((pod, step))
        elif typed in group.members:
            message = f"Pod {typed.metadata.name} is of a role that was not admitted: {name}."
            steps.append((pod, Refused(reason="invalid", message=message)))
    return steps


def stop_members(stop: Stop, pods: Sequence[Object]) -> list[tuple[Object, Step]]:
    """Return what each pod of a group needs to stop.

    A pod that ended or is being deleted is marked as well. When no other is left, it is the proof
    of the stop; and no stop is proven while one of them bears an older decision.
    """
    if group_uid([read(pod, Pod) for pod in pods]) != stop.order.job.uid:
        return [(pods[0], _GONE)]
    return [(pod, _stop_step(stop, pod)) for pod in pods]


def podsets(group: Object) -> list[Object]:
    """See ``JobKind.podsets``; the object is a list of pods under ``items``."""
    written = {pod["metadata"]["uid"]: pod for pod in group["items"]}
    members = group_of([read(pod, Pod) for pod in written.values()])
    counted_pods = podset_pods(members)
    result: list[Object] = []
    for podset in _podsets(members):
        like = next(
            pod for pod in counted_pods if has_fast_admission(members) or role(pod) == podset.name
        )
        result.append(pod_podset(written[like.metadata.uid], podset.name, podset.count))
    return result


def _stop_step(stop: Stop, pod: Object) -> Step:
    ended = pod.get("status", {}).get("phase") in pod_state.OUTCOMES
    if not (ended or "deletionTimestamp" in pod["metadata"]):
        return single.stop(stop, pod, 0.0)
    return single.stop_record(stop, pod, retain=stop.keeps and single.has_finalizer(pod))


def _podsets(group: Group) -> tuple[PodSet, ...]:
    pods = podset_pods(group)
    if has_fast_admission(group):
        first = pods[0]
        check_same_requests(role(first), pods)
        return (pod_set(pod_template(first), name=role(first), count=group.total),)
    named = [(role(pod), pod) for pod in pods]
    roles = dict(reversed(named))
    counts = Counter(name for name, _ in named)
    if len(roles) > PODSETS_MAX:
        raise UndecodableError(f"Its pods have {len(roles)} roles; {PODSETS_MAX} are the most.")
    for name in roles:
        check_same_requests(name, [pod for each, pod in named if each == name])
    return tuple(
        pod_set(pod_template(roles[name]), name=name, count=counts[name]) for name in sorted(roles)
    )


def _selectors(job: ObjectRef) -> tuple[str, ...]:
    """Return what finds the pods of a group: by the label, else all pods that have none."""
    by_annotation = f"{names.MANAGED}=true,!{names.POD_GROUP_NAME}"
    if len(job.name) > _LABEL_MAX:
        return (by_annotation,)
    return f"{names.POD_GROUP_NAME}={job.name}", by_annotation


def _is_member(job: ObjectRef, obj: Object) -> bool:
    return group_name(read(obj["metadata"], ObjectMeta)) == job.name


def _single_pod_job(pod: Pod) -> JobObserved:
    raise UndecodableError(f"Pod {pod.metadata.name} is looked at with its group.")


def _refuse(*_: object) -> Step:
    return Refused(reason="invalid", message="A group is started and stopped as a whole.")


KIND = msgspec.structs.replace(
    single.KIND,
    name=NAME,
    observe=_single_pod_job,
    start=_refuse,
    stop=_refuse,
    podsets=podsets,
    members=Members(
        selectors=_selectors, is_member=_is_member, start=start_members, stop=stop_members
    ),
)
