"""Which trees of cohorts are to move to another partition, and what keeps them here.

A tree moves as a whole, because its ClusterQueues share quota: if they left one after another, two
partitions could use the same lent quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from tidegate.contracts.phases import HOLDING
from tidegate.core.state.desired_state import is_as_desired
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import CONTROLLER as MULTIKUEUE
from tidegate.model.quota import COHORTS_MAX, ClusterQueueSpec

_NAMED_MAX = 3


class MovingTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree whose objects all name the same other partition."""

    to: int
    queues: tuple[str, ...]
    cohorts: tuple[str, ...]


def moving_trees(state: State) -> list[MovingTree]:
    """Return the trees whose objects all name one other partition, which can take them."""
    movable = (_moving_tree(state, root, *parts) for root, parts in objects_by_root(state).items())
    return [tree for tree in movable if tree is not None]


def object_keys(queues: Sequence[str], cohorts: Sequence[str]) -> list[str]:
    """Return the objects of a tree as ``Moves.asked`` names them: ``ClusterQueue/a``."""
    return [f"ClusterQueue/{name}" for name in queues] + [f"Cohort/{name}" for name in cohorts]


def key_as_text(key: str) -> str:
    """Return the key of an object or of a tree's root as text: ``Cohort physics``."""
    return key.replace("/", " ", 1)


def abbreviate_names(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more


def objects_by_root(state: State) -> dict[str, tuple[list[str], list[str]]]:
    """Return the ClusterQueues and Cohorts of each tree, by its root.

    A root is ``Cohort/a``, or ``ClusterQueue/a`` in no cohort.
    """
    parts: dict[str, tuple[list[str], list[str]]] = {}
    for name, defined in state.objects.cluster_queues.items():
        parts.setdefault(_queue_root(state, defined.spec, name), ([], []))[0].append(name)
    for name in state.objects.cohorts:
        parts.setdefault(cohort_root_of(state, name), ([], []))[1].append(name)
    return parts


def _removed_queue_roots(state: State) -> set[str]:
    """Return the roots above ClusterQueues that are deleted and whose workloads still run."""
    return {_queue_root(state, old.spec, "") for old in state.objects.removed_queues.values()}


def move_blockers(
    state: State, root: str, queues: Sequence[str], cohorts: Sequence[str], to: int
) -> Iterator[str]:
    """Yield what keeps a tree from moving to a partition, except workloads under way."""
    wishes = state.moves.asked
    others = [key_as_text(key) for key in object_keys(queues, cohorts) if wishes.get(key) != to]
    if others:
        verb = "does" if len(others) == 1 else "do"
        yield f"{abbreviate_names(others)} {verb} not ask for partition {to}"
        return
    if root in _removed_queue_roots(state):
        yield "a ClusterQueue of it is deleted, and what ran in it has not ended"
    if not state.moves.taking.keys().isdisjoint(queues):
        yield "it came from another partition, and not all its jobs are listed yet"
    if to:
        specs = [state.objects.cluster_queues[name].spec for name in queues]
        needs = dict.fromkeys(need for spec in specs for need in partition_0_needs(state, spec))
        yield from (need.rstrip(".") for need in needs)


def _moving_tree(
    state: State, root: str, queues: list[str], cohorts: list[str]
) -> MovingTree | None:
    wishes = state.moves.asked
    to = next(
        (wishes[key] for key in object_keys(queues, cohorts) if key in wishes), state.partition
    )
    if to == state.partition or any(move_blockers(state, root, queues, cohorts, to)):
        return None
    return MovingTree(to=to, queues=tuple(sorted(queues)), cohorts=tuple(sorted(cohorts)))


def cohort_root_of(state: State, cohort: str) -> str:
    """Return the root of a cohort's tree; all cohorts above which is a cycle count as one tree."""
    cohorts = state.objects.cohorts
    return topmost_cohort(cohort, lambda name: cohorts[name].spec.parent if name in cohorts else "")


def topmost_cohort(cohort: str, parent_of: Callable[[str], str]) -> str:
    """Return the root above a cohort, by each cohort's parent; ``Cohort/`` without an end."""
    for _ in range(COHORTS_MAX):
        parent = parent_of(cohort)
        if not parent:
            return f"Cohort/{cohort}"
        cohort = parent
    return "Cohort/"


def _queue_root(state: State, spec: ClusterQueueSpec, name: str) -> str:
    return cohort_root_of(state, spec.cohort) if spec.cohort else f"ClusterQueue/{name}"


def moving_messages(state: State, cluster_queue: str) -> Iterator[str]:
    """Yield why a ClusterQueue admits nothing while its tree moves."""
    moves = state.moves
    if f"ClusterQueue/{cluster_queue}" in moves.asked:
        for tree in moving_trees(state):
            if cluster_queue in tree.queues:
                yield f"Its tree moves to partition {tree.to} once nothing of it is under way."
    if moves.taking:
        queues = state.objects.cluster_queues
        root = _queue_root(state, queues[cluster_queue].spec, cluster_queue)
        if any(_queue_root(state, queues[q].spec, q) == root for q in moves.taking if q in queues):
            yield "Its tree came from another partition, and its jobs are not all listed yet."


def partition_0_needs(state: State, spec: ClusterQueueSpec) -> Iterator[str]:
    """Yield what of a ClusterQueue only partition 0 decides: topologies and worker clusters."""
    flavors, checks = state.objects.flavors, state.objects.checks
    names = [flavor.flavor for group in spec.groups for flavor in group.flavors]
    if placing := [name for name in names if name in flavors and flavors[name].spec.topology]:
        yield f"ResourceFlavor {', '.join(placing)} has a topology: only partition 0 places pods."
    if distant := [
        rule.name
        for rule in spec.checks
        if rule.name in checks and checks[rule.name].controller == MULTIKUEUE
    ]:
        yield f"AdmissionCheck {', '.join(distant)} is of MultiKueue: it needs partition 0."


def tree_workloads(state: State, tree: MovingTree) -> list[Workload]:
    """Return the workloads of a tree: those that hold its quota, and those that wait for it."""
    keys = dict[str, None]()
    for local_queue, defined in state.objects.local_queues.items():
        if defined.spec.cluster_queue in tree.queues:
            keys.update(dict.fromkeys(state.by_queue.get(local_queue, ())))
    for key, workload in state.workloads.items():
        if workload.phase in HOLDING and workload.cluster_queue in tree.queues:
            keys[key] = None
    return [state.workloads[key] for key in keys]


def blocking_workload(state: State, tree: MovingTree) -> Workload | None:
    """Return a workload that keeps a tree from moving now; None: the tree may move."""
    return next((w for w in tree_workloads(state, tree) if workload_move_blocker(state, w)), None)


def workload_move_blocker(state: State, workload: Workload) -> str:
    """Return why another partition could not take over a workload as it is; empty: it could.

    A job with variants, or whose slice is about to be replaced, has several workloads.
    """
    key = workload.key
    if workload.state.deleting:
        return f"{key} is being deleted"
    if workload.phase == "reserved":
        return f"{key} has quota and waits for its admission checks"
    if workload.phase == "evicting":
        return f"{key} is being evicted"
    if workload.phase in HOLDING:
        if workload.parent or workload.variants or workload.successor:
            return f"{key} is tried by variants, or is replaced by another slice"
        if state.objects.queue_of(workload.local_queue) != workload.cluster_queue:
            return f"{key} runs, and its LocalQueue does not lead here any more"
    if is_as_desired(state, workload):
        return ""
    return f"{key} was ordered to start or stop, and is not observed so yet"
