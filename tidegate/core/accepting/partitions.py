"""Which partition decides about a queue, and about the jobs that name it: see docs/adr/0027.

A ClusterQueue belongs to the partition that its annotation names. A job belongs to the partition of
its LocalQueue's ClusterQueue; while it has no ClusterQueue, the job belongs to partition 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved, Named, QueueElsewhere
from tidegate.contracts.fact_kinds.handovers import MoveAsked
from tidegate.contracts.observations import ClusterQueueObserved, JobObserved
from tidegate.contracts.observed.identity import Placed
from tidegate.core.accepting.versions import record_removal
from tidegate.core.state.state import State
from tidegate.model.ids import DECIDED_ELSEWHERE, ObjectRef

CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
LOCAL_QUEUES = "localqueues.kueue.x-k8s.io"


def is_ours(state: State, local_queue: str) -> bool:
    """Return whether this partition decides about the jobs of a LocalQueue, by its key."""
    if not (state.partition or state.objects.elsewhere):
        return True
    defined = state.objects.local_queues.get(local_queue)
    name = "" if defined is None else defined.spec.cluster_queue
    if state.partition:
        return name in state.objects.cluster_queues
    return name not in state.objects.elsewhere


def passes_by(state: State, job: JobObserved) -> bool:
    """Return whether a job belongs to another partition; if so, remember its LocalQueue."""
    local_queue = local_queue_of(job)
    if is_ours(state, local_queue):
        return False
    if job.queue:
        state.dedup.passed_by[local_queue] = None
    return True


def is_stopped_elsewhere(state: State, job: JobObserved) -> bool:
    """Return whether another partition, to which a job belongs now, has stopped it."""
    ledger_id = job.state.decision.rpartition("/")[0]
    stopped = job.state.suspended and not job.state.active
    by_another = ledger_id not in {"", state.ledger_id}
    return stopped and by_another and not is_ours(state, local_queue_of(job))


def why(state: State, job: JobObserved) -> str:
    """Return why a job's workload is removed; "" if its queue belongs to this partition."""
    return "" if is_ours(state, local_queue_of(job)) else DECIDED_ELSEWHERE


def local_queue_of(job: JobObserved) -> str:
    """Return the key of the LocalQueue that a job names, as ``Workload.local_queue`` has it."""
    return f"{job.workload.partition('/')[0]}/{job.queue}"


def is_placed_elsewhere(state: State, observed: Placed) -> bool:
    """Return whether a ClusterQueue or Cohort belongs to another partition.

    An object stays in the partition in which it was first observed, until its tree moves.
    """
    objects = state.objects
    is_queue = isinstance(observed, ClusterQueueObserved)
    defined: Mapping[str, Named] = objects.cluster_queues if is_queue else objects.cohorts
    own, other = defined.get(observed.name), objects.elsewhere.get(observed.name)
    if own is not None and own.uid == observed.uid:
        return False
    is_other = other is not None and other.uid == observed.uid
    if not is_queue:
        is_other = state.moves.cohorts.get(observed.name) == observed.uid
    return is_other or observed.partition != state.partition


def ask_moves(state: State, at_us: int, observed: Placed) -> Iterator[MoveAsked]:
    """Yield that an own ClusterQueue or Cohort names another partition than before."""
    is_queue = isinstance(observed, ClusterQueueObserved)
    objects = state.objects
    own = (objects.cluster_queues if is_queue else objects.cohorts).get(observed.name)
    if own is None or own.uid != observed.uid or observed.version < own.version:
        return
    kind = "ClusterQueue" if is_queue else "Cohort"
    to = observed.partition if observed.move_to is None else observed.move_to
    if to != state.moves.asked.get(f"{kind}/{observed.name}", state.partition):
        yield MoveAsked(
            at_us=at_us,
            kind=kind,  # type: ignore[arg-type]  # one of the two
            name=observed.name,
            uid=observed.uid,
            version=observed.version,
            to=to,
        )


def removed_elsewhere(
    state: State, at_us: int, uid: str, version: int
) -> Iterator[ClusterQueueRemoved]:
    """Yield the deletion of another partition's ClusterQueue, if ``uid`` is one's."""
    for queue in [each for each in state.objects.elsewhere.values() if each.uid == uid]:
        yield _removed(state, at_us, queue, version)


def listed_elsewhere(
    state: State, at_us: int, present: Collection[str], version: int
) -> Iterator[ClusterQueueRemoved]:
    """Yield the deletion of other partitions' ClusterQueues that a list of that version lacks."""
    for queue in list(state.objects.elsewhere.values()):
        if queue.uid not in present and queue.version <= version:
            yield _removed(state, at_us, queue, version)


def is_blind(state: State) -> bool:
    """Return whether this partition does not know yet which LocalQueues are its own."""
    if not state.partition:
        return False  # partition 0 takes jobs without a ClusterQueue, and drops them if another's
    rounds = (state.rounds.get(resource) for resource in (CLUSTER_QUEUES, LOCAL_QUEUES))
    return any(lists is None or not lists.completed for lists in rounds)


def _removed(state: State, at_us: int, queue: QueueElsewhere, version: int) -> ClusterQueueRemoved:
    gone = ObjectRef(kind="", name=queue.name, uid=queue.uid)
    record_removal(state, CLUSTER_QUEUES, gone, version)
    return ClusterQueueRemoved(at_us=at_us, name=queue.name, uid=queue.uid, version=version)
