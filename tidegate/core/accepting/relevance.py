"""Which observations count: those that are not outdated, of what this partition decides about.

Versions compare as integers, across sessions. A ClusterQueue belongs to the partition that its
annotation names. A job belongs to the partition of its LocalQueue's ClusterQueue; while it has no
ClusterQueue, the job belongs to partition 0: see docs/adr/0027.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved, Named, QueueElsewhere
from tidegate.contracts.fact_kinds.handovers import MoveRequested
from tidegate.contracts.observations import ClusterQueueObserved, JobObserved, Observed
from tidegate.contracts.observed.jobs import Placed
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.state import State
from tidegate.model.ids import DECIDED_ELSEWHERE, ObjectRef
from tidegate.model.multikueue import OUT_OF_SYNC

CLUSTER_QUEUES = "clusterqueues.kueue.x-k8s.io"
LOCAL_QUEUES = "localqueues.kueue.x-k8s.io"


def is_outdated(state: State, resource: str, observed: Observed, version: int | None) -> bool:
    """Return whether a newer version than ``observed`` is known; ``version``: the one in the state.

    An outdated object of a list is kept until its round is complete: it counts after all if the
    round shows that the cluster was restored from a backup.
    """
    newer = _newer_version(state, resource, observed, version)
    if newer is None and version is None and _is_overtaken(state, resource, observed):
        _suspect_overtaken(state, resource, observed)
        return True
    if newer is None:
        state.dedup.suspected.get(resource, {}).pop(observed.uid, None)
        return False
    unknown = version is None and observed.uid not in state.dedup.versions
    skip_outdated(state, resource, observed, newer, suspected=unknown and not has_ended(observed))
    return True


def _is_overtaken(state: State, resource: str, observed: Observed) -> bool:
    """Return whether a list has an unknown object that a later list, observed before it, lacked.

    Such a list may arrive long after it was read, when its object's deletion is forgotten already.
    A list whose beginning was lost may be as old; a resync follows it anyway.
    """
    open_round = state.dedup.open_rounds.get(round_key(observed.session, resource, observed.round))
    listed = list_version(state, resource)
    late = open_round is None or open_round.listed < listed
    return late and observed.round > 0 and observed.version <= listed


def _suspect_overtaken(state: State, resource: str, observed: Observed) -> None:
    """Skip an object of an overtaken list; an even later list that has it may refute that.

    This does not indicate a restored cluster: a later list was observed since the request.
    """
    if not has_ended(observed):
        state.dedup.suspected.setdefault(resource, {})[observed.uid] = list_version(state, resource)
    open_round = state.dedup.open_rounds.get(round_key(observed.session, resource, observed.round))
    if open_round is not None:
        open_round.skipped[observed.uid] = observed


def has_ended(observed: Observed) -> bool:
    """Tell whether a job has ended, so that no decision depends on whether it still exists.

    A job whose Workload still shows quota is not over until its end is recorded, nor is one that is
    out of sync with its prebuilt Workload, since it must not run.
    """
    if not isinstance(observed, JobObserved) or observed.left_open:
        return False
    return bool(observed.finished) and observed.finished != OUT_OF_SYNC


def skip_outdated(
    state: State, resource: str, observed: Observed, newer: int, *, suspected: bool
) -> None:
    """Skip ``observed`` as outdated, because version ``newer`` is known.

    ``suspected``: it counts as deleted, until a later list has it.
    """
    if suspected:
        state.dedup.suspected.setdefault(resource, {})[observed.uid] = newer
    open_round = state.dedup.open_rounds.get(round_key(observed.session, resource, observed.round))
    if open_round is not None:
        open_round.skipped[observed.uid] = observed
        # The list began after this version was known, and yet its object is older: a restore.
        open_round.restored = open_round.restored or newer <= open_round.floor


def round_key(session: str, resource: str, number: int) -> str:
    """Return the key of a round in ``Dedup.open_rounds``."""
    return f"{session} {resource} {number}"


def _newer_version(
    state: State, resource: str, observed: Observed, version: int | None
) -> int | None:
    # An unknown object was deleted if its uid is remembered so; if a watch reported it, also if its
    # version is not above the newest list, which lacked it. An object in a list counts: its earlier
    # observation may have been lost.
    dedup = state.dedup
    if version is not None:
        newest = max(version, dedup.versions.get(observed.uid, 0))
        return newest if observed.version < newest else None
    removed = dedup.deleted.get(resource, {}).get(observed.uid)
    if removed is not None:  # a group of a LeaderWorkerSet may come again, under its uid
        return removed if observed.version <= removed else None
    # A name has one object at a time, and a job without a queue name may get one again.
    namesake = dedup.deleted_names.get(resource, {}).get(
        _object_name(observed.namespace, observed.name), ""
    )
    later = dedup.deleted.get(resource, {}).get(namesake, 0)
    newest = max(later, dedup.versions.get(observed.uid, 0))
    if observed.version < newest:
        return newest
    listed = list_version(state, resource)
    return listed if observed.round == 0 and observed.version <= listed else None


def list_version(state: State, resource: str) -> int:
    """Return the newest version of a completed list of a resource; 0: none was completed."""
    folded = state.rounds.get(resource)
    newest = 0 if folded is None else folded.list_version
    return max(newest, state.dedup.lists.get(resource, 0))


def known_versions(state: State, resource: str) -> Iterator[tuple[str, str, int]]:
    """Yield (key, uid, newest version) of each object of a resource, in the state's order."""
    fields = state.dedup.versions
    definitions = definitions_of(state.objects, resource)
    if definitions is not None:
        for key, defined in definitions.items():
            yield key, defined.uid, max(defined.version, fields.get(defined.uid, 0))
        return
    for key, workload in state.workloads.items():
        uid = workload.job.uid  # one of an elastic job's workloads stands for it
        if workload.resource == resource and state.by_uid.get(uid) == key:
            yield key, uid, max(workload.version, fields.get(uid, 0))
    for uid, copy in state.copies.items():
        if copy.resource == resource:
            yield uid, uid, max(copy.version, fields.get(uid, 0))


def remember_version(state: State, observed: Observed) -> None:
    """Remember the version at which an object was observed, whether or not anything changed."""
    fields = state.dedup.versions
    if observed.version > fields.get(observed.uid, 0):
        fields[observed.uid] = observed.version


def record_removal(state: State, resource: str, reference: ObjectRef, version: int) -> None:
    """Remember that an object was deleted: neither it nor older objects of its name come back."""
    dedup, name = state.dedup, _object_name(reference.namespace, reference.name)
    dedup.versions.pop(reference.uid, None)
    dedup.deleted.setdefault(resource, {})[reference.uid] = version
    dedup.deleted_names.setdefault(resource, {})[name] = reference.uid


def forget_deleted_name(state: State, resource: str, namespace: str, name: str) -> None:
    """Forget the deletion of a name's object: its version is unknown, so it outdates no other."""
    state.dedup.deleted_names.get(resource, {}).pop(_object_name(namespace, name), None)


def _object_name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"


def is_own_queue(state: State, local_queue: str) -> bool:
    """Return whether this partition decides about the jobs of a LocalQueue, by its key."""
    if not (state.partition or state.objects.elsewhere):
        return True
    name = state.objects.queue_of(local_queue)
    if state.partition:
        return name in state.objects.cluster_queues
    return name not in state.objects.elsewhere


def is_foreign_job(state: State, job: JobObserved) -> bool:
    """Return whether a job belongs to another partition; if so, remember its LocalQueue."""
    local_queue = local_queue_of(job)
    if is_own_queue(state, local_queue):
        return False
    if job.queue:
        state.dedup.skipped_queues[local_queue] = None
    return True


def is_stopped_by_other(state: State, job: JobObserved) -> bool:
    """Return whether another partition, to which a job belongs now, has stopped it."""
    ledger_id = job.state.decision.rpartition("/")[0]
    stopped = job.state.suspended and not job.state.active
    by_another = ledger_id not in {"", state.ledger_id}
    return stopped and by_another and not is_own_queue(state, local_queue_of(job))


def removal_reason(state: State, job: JobObserved) -> str:
    """Return why a job's workload is removed; "" if its queue belongs to this partition."""
    return "" if is_own_queue(state, local_queue_of(job)) else DECIDED_ELSEWHERE


def local_queue_of(job: JobObserved) -> str:
    """Return the key of the LocalQueue that a job names, as ``Workload.local_queue`` has it."""
    return f"{job.workload.partition('/')[0]}/{job.queue}"


def is_foreign_object(state: State, observed: Placed) -> bool:
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


def request_moves(state: State, at_us: int, observed: Placed) -> Iterator[MoveRequested]:
    """Yield that an own ClusterQueue or Cohort names another partition than before."""
    is_queue = isinstance(observed, ClusterQueueObserved)
    objects = state.objects
    own = (objects.cluster_queues if is_queue else objects.cohorts).get(observed.name)
    if own is None or own.uid != observed.uid or observed.version < own.version:
        return
    kind = "ClusterQueue" if is_queue else "Cohort"
    to = observed.partition if observed.move_to is None else observed.move_to
    if to != state.moves.asked.get(f"{kind}/{observed.name}", state.partition):
        yield MoveRequested(
            at_us=at_us,
            kind=kind,  # type: ignore[arg-type]  # one of the two
            name=observed.name,
            uid=observed.uid,
            version=observed.version,
            to=to,
        )


def remove_foreign_queue(
    state: State, at_us: int, uid: str, version: int
) -> Iterator[ClusterQueueRemoved]:
    """Yield the deletion of another partition's ClusterQueue, if ``uid`` is one's."""
    for queue in [each for each in state.objects.elsewhere.values() if each.uid == uid]:
        yield _queue_removed(state, at_us, queue, version)


def remove_unlisted_foreign(
    state: State, at_us: int, present: Collection[str], version: int
) -> Iterator[ClusterQueueRemoved]:
    """Yield the deletion of other partitions' ClusterQueues that a list of that version lacks."""
    for queue in list(state.objects.elsewhere.values()):
        if queue.uid not in present and queue.version <= version:
            yield _queue_removed(state, at_us, queue, version)


def are_own_queues_unknown(state: State) -> bool:
    """Return whether this partition does not know yet which LocalQueues are its own."""
    if not state.partition:
        return False  # partition 0 takes jobs without a ClusterQueue, and drops them if another's
    rounds = (state.rounds.get(resource) for resource in (CLUSTER_QUEUES, LOCAL_QUEUES))
    return any(lists is None or not lists.completed for lists in rounds)


def _queue_removed(
    state: State, at_us: int, queue: QueueElsewhere, version: int
) -> ClusterQueueRemoved:
    reference = ObjectRef(kind="", name=queue.name, uid=queue.uid)
    record_removal(state, CLUSTER_QUEUES, reference, version)
    return ClusterQueueRemoved(at_us=at_us, name=queue.name, uid=queue.uid, version=version)
