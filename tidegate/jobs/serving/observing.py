"""An object that is queued through its pods, observed: what it asks for, and how its pods stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import NotSupportedError
from tidegate.jobs.job_metadata import asked, written_decision
from tidegate.jobs.job_status import Loose
from tidegate.jobs.kind import JobKind
from tidegate.jobs.names import workload_key
from tidegate.jobs.pods import pod_state
from tidegate.jobs.serving import marks
from tidegate.jobs.serving.members import SetLayout, job_name, job_uid
from tidegate.jobs.suspending.model_podsets import model_podsets
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.topologies import check_groups
from tidegate.kinds.pods import Pod

ON_HOLD = "tidegate.dev/no-replicas"
"""Gates an object that asks for no pods, until it is scaled up."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the pods of one job."""

    pods: Sequence[Pod]
    version: int  # of the newest that is known of the job
    certain: bool = True  # no pod was let go that was not seen to run
    going: bool = False  # the object was deleted


def observe_set(
    kind: JobKind[Any], layout: SetLayout, found: Loose, index: int | None, standing: Standing
) -> JobObserved:
    """Observe one job of an object; see ``JobKind.observe``."""
    meta, obj = found.metadata, found.plain()
    seen = asked(kind, meta)
    if seen.prebuilt:
        raise NotSupportedError(
            f"{found.metadata.name}: a {kind.kind} has no prebuilt workload: remove "
            f"{names.PREBUILT_WORKLOAD}, and the Workload is made from its template."
        )
    podsets = model_podsets(obj, layout.places(obj))
    check_groups(podsets)
    named = (one.priority_class for one in podsets)
    idle = (ON_HOLD,) if not layout.replicas(obj) else ()
    name = job_name(meta.name, index)
    return msgspec.structs.replace(
        seen,
        name=name,
        uid=job_uid(meta.uid, index),
        version=standing.version,
        workload=workload_key(kind.kind, kind.group, meta.namespace, name, meta.uid),
        gates=(*seen.gates, *idle),
        pod_priority_class=next((one for one in named if one), ""),
        podsets=podsets,
        state=set_state(found, index, standing),
    )


def set_state(found: Loose, index: int | None, standing: Standing) -> JobState:
    """Return how one job of an object stands.

    It is suspended if no pod of it runs that is not going, and none would be let go. While some
    pod may have been let go unseen it counts as active.
    """
    notes = found.metadata.annotations
    here = [one for one in standing.pods if not pod_state.is_finished(one)]
    running = [one for one in here if not (pod_state.is_gated(one) or one.metadata.deleting)]
    started = marks.given(notes, index) is not None and not standing.going
    waits = any(pod_state.is_gated(one) and not one.metadata.deleting for one in here)
    active = sum(not pod_state.is_gated(one) for one in here)
    suspended = not started and not running
    return JobState(
        suspended=suspended,
        partly=not started and bool(running) and waits,
        active=active if standing.certain or not suspended else max(active, 1),
        ready=sum(pod_state.is_ready(one) for one in running),
        deleting=standing.going or found.metadata.deleting,
        decision=written_decision(marks.decision(notes, index)),
        generation=found.metadata.generation,
    )
