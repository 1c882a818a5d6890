"""Jobs of one kind and name: the newer one replaces the older, whose end was not observed."""

from __future__ import annotations

from tidegate.core.state.state import State, Workload
from tidegate.model.clusters import qualified
from tidegate.model.ids import ObjectRef

_DIRECT = "workload"


def namesakes(state: State, job: ObjectRef, key: str) -> list[Workload]:
    """Return the workloads that a new job replaces: of its name, or under its workload's key."""
    keys = dict.fromkeys((names(state).get(name(job), ""), key))
    generator = (state.workloads.get(each) for each in keys)
    return [workload for workload in generator if workload is not None and workload.uid != job.uid]


def is_taken(state: State, job: ObjectRef, key: str) -> bool:
    """Tell whether the key of a new job's workload belongs to a job of another kind.

    Any user may name a pod group like the Workload of a Job: that Job did not end, and its running
    pods stay charged. A prebuilt Workload may pass from one job to another, and one that was
    created directly may be claimed by any job.
    """
    holder = state.workloads.get(key)
    if holder is None or holder.uid == job.uid or holder.phase == "finished" or holder.prebuilt:
        return False
    return holder.job.kind != job.kind and _DIRECT not in {holder.job.kind, job.kind}


def names(state: State) -> dict[str, str]:
    """Return the workloads of jobs by kind, namespace and name; the live index."""
    if state.dedup.names is None:
        own = ((key, workload) for key, workload in state.workloads.items() if not workload.parent)
        state.dedup.names = {name(workload.job): key for key, workload in own}
    return state.dedup.names


def name(job: ObjectRef) -> str:
    """Return the kind, cluster, namespace and name of a job: newer jobs replace older by these."""
    return qualified(f"{job.kind} {job.namespace}/{job.name}", job.cluster)
