"""Which trees of cohorts are to move to another partition, and what keeps them here.

A tree moves as a whole, for its quota is one: were its ClusterQueues to leave one after another,
what one lends could be in use here and given away there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.contracts.phases import HOLDING
from tidegate.core.state.desired_state import agrees
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import CONTROLLER as MULTIKUEUE
from tidegate.model.quota import ClusterQueueSpec


class MovingTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree all of whose objects ask for the same other partition."""

    to: int
    queues: tuple[str, ...]
    cohorts: tuple[str, ...]


def moving_trees(state: State) -> list[MovingTree]:
    """Return the trees that may leave: all of one asks for one other partition that can have it."""
    if not state.moves.asked:
        return []
    removed = roots_of_removed(state)
    moving = [_moving(state, *parts) for root, parts in trees(state).items() if root not in removed]
    return [tree for tree in moving if tree is not None]


def trees(state: State) -> dict[str, tuple[list[str], list[str]]]:
    """Return the ClusterQueues and Cohorts of each tree, by its root.

    A root is ``Cohort/a``, or ``ClusterQueue/a`` in no cohort.
    """
    parts: dict[str, tuple[list[str], list[str]]] = {}
    for name, defined in state.objects.cluster_queues.items():
        parts.setdefault(_root(state, defined.spec, name), ([], []))[0].append(name)
    for name in state.objects.cohorts:
        parts.setdefault(root_of(state, name), ([], []))[1].append(name)
    return parts


def roots_of_removed(state: State) -> set[str]:
    """Return the roots above ClusterQueues that are deleted and whose workloads still run."""
    return {_root(state, old.spec, "") for old in state.objects.removed_queues.values()}


def _moving(state: State, queues: list[str], cohorts: list[str]) -> MovingTree | None:
    keys = [f"ClusterQueue/{name}" for name in queues] + [f"Cohort/{name}" for name in cohorts]
    targets = {state.moves.asked.get(key, state.partition) for key in keys}
    to = next(iter(targets))
    if len(targets) > 1 or to == state.partition:
        return None
    if any(name in state.moves.taking for name in queues):
        return None  # who runs in it is not known yet
    specs = (state.objects.cluster_queues[name].spec for name in queues)
    if to and any(needs for spec in specs for needs in needs_partition_0(state, spec)):
        return None
    return MovingTree(to=to, queues=tuple(sorted(queues)), cohorts=tuple(sorted(cohorts)))


def root_of(state: State, cohort: str) -> str:
    """Return the topmost cohort above one; all that lead into circles count as one tree."""
    passed = set[str]()
    while cohort not in passed:
        passed.add(cohort)
        defined = state.objects.cohorts.get(cohort)
        if defined is None or not defined.spec.parent:
            return f"Cohort/{cohort}"
        cohort = defined.spec.parent
    return "Cohort/"


def _root(state: State, spec: ClusterQueueSpec, name: str) -> str:
    return root_of(state, spec.cohort) if spec.cohort else f"ClusterQueue/{name}"


def why_closed(state: State, cluster_queue: str) -> Iterator[str]:
    """Yield why a ClusterQueue admits nothing while its tree moves."""
    moves = state.moves
    if f"ClusterQueue/{cluster_queue}" in moves.asked:
        for tree in moving_trees(state):
            if cluster_queue in tree.queues:
                yield f"Its tree moves to partition {tree.to} once nothing of it is under way."
    if moves.taking:
        queues = state.objects.cluster_queues
        root = _root(state, queues[cluster_queue].spec, cluster_queue)
        if any(_root(state, queues[q].spec, q) == root for q in moves.taking if q in queues):
            yield "Its tree came from another partition, and its jobs are not all listed yet."


def needs_partition_0(state: State, spec: ClusterQueueSpec) -> Iterator[str]:
    """Yield what of a ClusterQueue partition 0 alone can decide: nodes' room, worker clusters."""
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


def workloads_of(state: State, tree: MovingTree) -> list[Workload]:
    """Return the workloads of a tree: those that hold its quota, and those that wait for it."""
    keys = dict[str, None]()
    for local_queue, defined in state.objects.local_queues.items():
        if defined.spec.cluster_queue in tree.queues:
            keys.update(dict.fromkeys(state.by_queue.get(local_queue, ())))
    for key, workload in state.workloads.items():
        if workload.phase in HOLDING and workload.cluster_queue in tree.queues:
            keys[key] = None
    return [state.workloads[key] for key in keys]


def under_way(state: State, tree: MovingTree) -> Workload | None:
    """Return a workload of a tree between an order and its observation; None: it may leave."""
    return next((w for w in workloads_of(state, tree) if not _rests(state, w)), None)


def _rests(state: State, workload: Workload) -> bool:
    """Return whether a workload is as it was decided, and another can go on with it.

    One that is tried by variants, or whose slice is about to be replaced, is several at once.
    """
    if workload.phase in ("reserved", "evicting") or workload.state.deleting:
        return False
    if workload.phase in HOLDING:
        defined = state.objects.local_queues.get(workload.local_queue)
        leads = "" if defined is None else defined.spec.cluster_queue
        several = workload.parent or workload.variants or workload.successor
        if several or leads != workload.cluster_queue:
            return False
    return agrees(state, workload)
