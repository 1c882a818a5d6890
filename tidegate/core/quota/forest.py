"""Builds the cohort trees and the ClusterQueues' states from definitions when these change.

Everything here is derived: a state whose forest is dropped and built again decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.contracts.facts import ClusterQueueDefined, CohortDefined
from tidegate.contracts.phases import HOLDING
from tidegate.core.quota.charging import flavor_resource
from tidegate.core.quota.readiness import readiness
from tidegate.core.quota.tree import (
    Cell,
    Node,
    add,
    bounded,
    cell_of,
    limit,
    root_of,
    settle,
    unbounded,
)
from tidegate.core.state.cluster_queues import ClusterQueueState, Forest, Tree
from tidegate.core.state.state import Intent, State, Workload
from tidegate.core.state.workload import Group, Slot
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import COHORTS_MAX, Quota, ResourceGroup


def forest(state: State) -> Forest:
    """Return the state's forest; builds it again if definitions have changed."""
    if state.forest.stale:
        _rebuild(state)
    return state.forest


def cq(state: State, cluster_queue: str) -> ClusterQueueState:
    """Return the state of a ClusterQueue that exists."""
    return forest(state).cluster_queues[cluster_queue]


def concerned(state: State, event: object) -> list[Tree]:
    """Return the trees in which an event may make workloads fit that did not: all, by default.

    By Kueue's rules a Cohort's event concerns its own tree only, as a ClusterQueue's always does.
    """
    trees = forest(state).trees
    if isinstance(event, ClusterQueueDefined):
        return [tree for tree in trees if any(q.name == event.name for q in tree.cluster_queues)]
    if isinstance(event, CohortDefined) and state.requeue.by_event:
        cohort = state.forest.cohorts.get(event.name)
        return [tree for tree in trees if cohort is not None and tree.root is root_of(cohort)]
    return trees


def _rebuild(state: State) -> None:
    old, new = state.forest, Forest(stale=False, pods=state.forest.pods)
    new.to_reconcile = old.to_reconcile
    new.topologies, new.pod_requests = old.topologies, old.pod_requests
    state.forest = new
    cyclic = _plant_cohorts(state, new)
    order = _top_down(new)
    trees: dict[tuple[bool, str], Tree] = {}
    for name in sorted({**state.objects.cluster_queues, **state.objects.removed_queues}):
        _add_cluster_queue(state, new, name, cyclic, trees)
    new.trees = list(trees.values())
    new.placing = [
        tree for tree in new.trees if any(cq.has_topologies for cq in tree.cluster_queues)
    ]
    _measure(new, order)
    for tree in new.trees:
        tree.left_seq = tree.outside_seq = state.redefined_seq
        for cluster_queue in tree.cluster_queues:
            cluster_queue.outside_seq = state.redefined_seq
        tree.stamp = state.seq
    new.dirty = list(new.trees)
    _move_in(state, old, new)


def _plant_cohorts(state: State, new: Forest) -> set[str]:
    """Create the cohorts' nodes; return the names of cohorts below a cycle or a long chain."""
    defined = state.objects.cohorts
    parents = {name: cohort.spec.parent for name, cohort in defined.items()}
    queues = (*state.objects.cluster_queues.values(), *state.objects.removed_queues.values())
    named = [queue.spec.cohort for queue in queues]
    names = sorted({*parents, *filter(None, parents.values()), *filter(None, named)})
    cyclic = {name for name in names if _leads_nowhere(name, parents)}
    for name in names:
        weight = defined[name].spec.weight if name in defined else None
        node = Node(name=name, is_cohort=True)
        if weight is not None:
            node.weight = weight
        new.cohorts[name] = node
    for name in names:
        parent = parents.get(name, "")
        if parent and name not in cyclic:
            _join(new.cohorts[name], new.cohorts[parent])
    for node in _top_down(new):
        if node.name in defined:
            _give_quota(node, defined[node.name].spec.groups)
    return cyclic


def _leads_nowhere(name: str, parents: dict[str, str]) -> bool:
    """Tell whether a cohort's ancestors form a cycle, or are more than any rule could walk."""
    steps = 0
    while name and steps < COHORTS_MAX:
        steps += 1
        name = parents.get(name, "")
    return bool(name)


def _join(node: Node, parent: Node) -> None:
    node.parent = parent
    parent.children.append(node)


def _top_down(new: Forest) -> list[Node]:
    order = [node for node in new.cohorts.values() if node.parent is None]
    for node in order:  # grows while it is walked
        order.extend(child for child in node.children if child.is_cohort)
    return order


def _add_cluster_queue(
    state: State, new: Forest, name: str, cyclic: set[str], trees: dict[tuple[bool, str], Tree]
) -> None:
    defined = state.objects.charged_queue(name)
    assert defined is not None, "the ClusterQueue is defined or still charged"
    spec = defined.spec
    node = Node(name=name, is_cohort=False, weight=spec.weight)
    in_circle = spec.cohort in cyclic
    if spec.cohort and not in_circle:
        _join(node, new.cohorts[spec.cohort])
    _give_quota(node, spec.groups)
    tree = _tree_of(trees, node)
    tree.cyclic = in_circle
    groups = [_group(state, node, group) for group in spec.groups]
    cluster_queue = ClusterQueueState(name=name, spec=spec, node=node, tree=tree, groups=groups)
    for group in groups:
        for resource in group.resources:
            cluster_queue.group_of.setdefault(resource, group)
    slots = (slot for group in groups for slot in group.slots)
    placing = [slot.spec is not None and bool(slot.spec.topology) for slot in slots]
    cluster_queue.has_topologies = any(placing)
    cluster_queue.only_topologies = bool(placing) and all(placing)
    cluster_queue.active = readiness(state, name).active and not in_circle
    tree.cluster_queues.append(cluster_queue)
    tree.by_node[id(node)] = cluster_queue
    new.cluster_queues[name] = cluster_queue


def _give_quota(node: Node, groups: Iterable[ResourceGroup]) -> None:
    for group in groups:
        for flavor in group.flavors:
            for resource in dict.fromkeys((*group.resources, *flavor.quotas)):
                quota = flavor.quotas.get(resource, Quota(nominal=0))
                cell = cell_of(node, flavor_resource(flavor.flavor, resource))
                cell.nominal = unbounded(quota.nominal)
                cell.lending = _bound(quota.lending_limit)
                cell.borrowing = _bound(quota.borrowing_limit)
                _know(cell)


def _bound(quota: int | None) -> int | None:
    return None if quota is None else unbounded(quota)


def _know(cell: Cell) -> None:
    at: Cell | None = cell
    while at is not None and not at.known:
        at.known = True
        at = at.parent


def _tree_of(trees: dict[tuple[bool, str], Tree], node: Node) -> Tree:
    root = root_of(node)
    key = (root.is_cohort, root.name)
    if key not in trees:
        trees[key] = Tree(root=root)
    return trees[key]


def _group(state: State, node: Node, group: ResourceGroup) -> Group:
    slots: list[Slot] = []
    for flavor in group.flavors:
        defined = state.objects.flavors.get(flavor.flavor)
        cells = {
            resource: cell_of(node, flavor_resource(flavor.flavor, resource))
            for resource in group.resources
        }
        spec = None if defined is None else defined.spec
        slots.append(Slot(flavor=flavor.flavor, spec=spec, cells=cells))
    return Group(resources=group.resources, slots=slots)


def _measure(new: Forest, order: list[Node]) -> None:  # noqa: C901 - three walks, in this order
    """Compute quotas from the leaves up, and potential amounts from the roots down."""
    for node in order:
        for fr in node.cells if node.parent is None else node.parent.cells:
            cell_of(node, fr)  # each cohort has a cell for every flavor-resource of its root
    for node in reversed(order):
        node.height = 1 + max((child.height for child in node.children), default=-1)
        for cell in node.cells.values():
            cell.height = node.height
    queues = [cluster_queue.node for cluster_queue in new.cluster_queues.values()]
    for node in (*queues, *reversed(order)):
        for fr, cell in node.cells.items():
            below = (child.cells.get(fr) for child in node.children)
            settle(cell, sum(cell.quota - cell.local for cell in below if cell is not None))
    for node in (*order, *queues):
        for cell in node.cells.values():
            limit(cell)
        if node.parent is not None:
            node.lendable = _lendable(node.parent)


def _lendable(parent: Node) -> dict[str, int]:
    total: dict[str, int] = {}
    root = root_of(parent)
    for fr, cell in parent.cells.items():
        if root.cells[fr].known:
            most = total.get(fr.resource, 0) + bounded(cell.potential)
            total[fr.resource] = min(UNLIMITED, most)
    return total


def _move_in(state: State, old: Forest, new: Forest) -> None:
    """Charge workloads with quota, and take over pending ones from the old forest."""
    for name, was in old.cluster_queues.items():
        now = new.cluster_queues.get(name)
        if now is not None:
            now.shapes, now.heap, now.waiting = was.shapes, was.heap, was.waiting
            for shape in now.shapes.values():
                shape.explained, shape.watch, shape.named = False, None, None
                shape.parts = shape.explanation = None
                now.tree.unproven[id(shape)] = now, shape, (-1, -1)
    for workload in state.workloads.values():
        new.to_reconcile[workload.key] = None  # a rule may have decisions because of the change
        if workload.phase in HOLDING:
            hold(new, workload)
            if not workload.ready:
                new.unready[workload.key] = None
    for intent in state.intents.values():
        intend(new, intent, 1)


def hold(trees: Forest, workload: Workload) -> None:
    """Charge a workload that holds quota to its ClusterQueue, if that exists."""
    at = trees.cluster_queues.get(workload.cluster_queue)
    if at is None:
        return
    at.holding[workload.key] = workload
    add(at.node, workload.charges)
    if workload.phase == "evicting":
        at.tree.leaving[workload.key] = workload
    else:
        count_usage(at, workload, 1)


def count_usage(at: ClusterQueueState, workload: Workload, sign: int) -> None:
    """Add (1) or subtract (-1) the usage of a workload that is not being evicted."""
    heads = at.counted.get(workload.priority, 0) + sign
    if heads:
        at.counted[workload.priority] = heads
    else:
        at.counted.pop(workload.priority, None)
    for fr, units in workload.charges:
        sums = at.usage_by_priority.get(fr)
        if sums is None:
            sums = at.usage_by_priority[fr] = {}
        remaining = sums.get(workload.priority, 0) + sign * units
        if remaining:
            sums[workload.priority] = remaining
        else:
            sums.pop(workload.priority, None)


def intend(trees: Forest, intent: Intent, sign: int) -> None:
    """Add (1) or subtract (-1) the quota that an intent reserves in its ClusterQueue."""
    at = trees.cluster_queues.get(intent.cluster_queue)
    for fr, units in () if at is None else intent.charges:
        assert at is not None
        at.intended[fr] = at.intended.get(fr, 0) + sign * units
