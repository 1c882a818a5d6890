"""Jobs that ingest does not watch any more: their kind was disabled, or its CRD removed.

No observation would ever show that such a job stops or ends, so its quota is released. This waits a
little: an API server that starts may not know a custom resource for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import WorkloadRemoved
from tidegate.contracts.observations import Heartbeat
from tidegate.core.accepting.jobs.adoption import is_complete
from tidegate.core.accepting.jobs.observed import let_go_all
from tidegate.core.members.standing import is_open
from tidegate.core.state.state import State
from tidegate.model.clusters import cluster_of
from tidegate.model.ids import NOT_WATCHED

AFTER_US = 10_000_000
"""How long a resource must be unwatched before its workloads are removed, in microseconds."""


def note_unwatched(state: State, beat: Heartbeat, at_us: int) -> None:
    """Note the job resources that a session does not watch. Costs O(workloads)."""
    if not beat.resources:
        return  # the heartbeat does not name what its session watches
    watched, since = set(beat.resources), state.dedup.unwatched
    cluster = cluster_of(beat.session)
    resources = dict.fromkeys(workload.resource for workload in state.workloads.values())
    missing = (name for name in resources if name and name not in watched)
    own = (name for name in missing if cluster_of(name) == cluster)
    others = {name: at for name, at in since.items() if cluster_of(name) != cluster}
    state.dedup.unwatched = others | {name: since.get(name, at_us) for name in own}


def release_unwatched(state: State, at_us: int) -> Iterator[WorkloadRemoved]:
    """Yield the removal of workloads whose jobs no session has watched for ``AFTER_US``."""
    for resource, since_us in list(state.dedup.unwatched.items()):
        if at_us - since_us < AFTER_US or not is_complete(state):
            continue
        if not is_open(state, cluster_of(resource)):
            continue  # a silent cluster's resource may be watched by now
        del state.dedup.unwatched[resource]
        if _is_watched(state, resource, at_us - AFTER_US):
            continue
        for key in [
            key for key, workload in state.workloads.items() if workload.resource == resource
        ]:
            other = state.workloads.get(key)
            if other is not None:
                yield from let_go_all(state, at_us, other, other.version, NOT_WATCHED)


def _is_watched(state: State, resource: str, since_us: int) -> bool:
    """Tell whether another session, as in a rolling upgrade, still watches a resource."""
    beats = state.dedup.beats.values()
    return any(resource in beat.resources for beat in beats if beat.at_us >= since_us)
