"""An object that is queued through its pods, observed: what it asks for, and how its pods stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.jobs import NO_REPLICAS
from tidegate.errors import NotSupportedError
from tidegate.jobs.job_metadata import managed_job, valid_decision, workload_key, workload_name
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod_state
from tidegate.jobs.serving import ordering
from tidegate.jobs.serving.members import SetLayout, job_name, job_uid, origin_uid
from tidegate.jobs.templates.podsets import model_podsets
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod


class ObservedPods(msgspec.Struct, frozen=True, kw_only=True):
    """The observed pods of one job."""

    pods: Sequence[Pod]
    version: int  # of the newest that is known of the job
    is_certain: bool = True  # no pod was let go that was not seen to run
    is_deleted: bool = False  # the object was deleted


def observe_serving_job(
    kind: JobKind[Any],
    layout: SetLayout,
    parent: UntypedObject,
    index: int | None,
    pods: ObservedPods,
) -> JobObserved:
    """Observe one job of an object; see ``JobKind.observe``."""
    meta, obj = parent.metadata, parent.as_json()
    observation = managed_job(kind, meta)
    if observation.prebuilt and index is not None:
        raise NotSupportedError(
            f"{meta.name}: the groups of a {kind.kind} have no prebuilt workload: remove "
            f"{names.PREBUILT_WORKLOAD}, and their Workloads are made from its template."
        )
    podsets = model_podsets(obj, layout.podset_locations(obj))
    check_groups(podsets)
    named = (podset.priority_class for podset in podsets)
    idle = (NO_REPLICAS,) if not layout.replicas(obj) else ()
    name = job_name(meta.name, index)
    return msgspec.structs.replace(
        observation,
        name=name,
        uid=job_uid(meta.uid, index),
        version=pods.version,
        workload=workload_key(kind.kind, kind.group, meta.namespace, name, meta.uid),
        prebuilt=remote_workload_name(kind, meta, index) or observation.prebuilt,
        gates=(*observation.gates, *idle),
        pod_priority_class=next((name for name in named if name), ""),
        podsets=podsets,
        state=serving_job_state(parent, index, pods),
    )


def remote_workload_name(kind: JobKind[Any], meta: ObjectMeta, index: int | None) -> str:
    """Return the name of the Workload that a manager sent before a group of this object."""
    origin = "" if index is None else origin_uid(meta)
    return origin and workload_name(kind.kind, kind.group, job_name(meta.name, index), origin)


def serving_job_state(parent: UntypedObject, index: int | None, pods: ObservedPods) -> JobState:
    """Return the state of one job of a StatefulSet or LeaderWorkerSet.

    It is suspended if no pod of it runs that is not going, and none would be let go. While some
    pod may have been let go unseen it counts as active.
    """
    notes = parent.metadata.annotations
    present = [pod for pod in pods.pods if not pod_state.is_finished(pod)]
    running = [pod for pod in present if not (pod_state.is_gated(pod) or pod.metadata.is_deleting)]
    started = ordering.podset_starts(notes, index) is not None and not pods.is_deleted
    waits = any(pod_state.is_gated(pod) and not pod.metadata.is_deleting for pod in present)
    active = sum(not pod_state.is_gated(pod) for pod in present)
    suspended = not started and not running
    return JobState(
        suspended=suspended,
        partly=not started and bool(running) and waits,
        active=active if pods.is_certain or not suspended else max(active, 1),
        ready=sum(pod_state.is_ready(pod) for pod in running),
        deleting=pods.is_deleted or parent.metadata.is_deleting,
        decision=valid_decision(ordering.decision(notes, index)),
        generation=parent.metadata.generation,
    )
