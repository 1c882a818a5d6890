"""Builds the cohort trees and the ClusterQueues' states from definitions when these change.

Everything here is derived: a state whose forest is dropped and built again decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.contracts.facts import ClusterQueueDefined, CohortDefined
from tidegate.contracts.phases import HOLDING
from tidegate.core.quota.charging import flavor_resource
from tidegate.core.quota.equal_trees import forget_watches, keep_equal_trees
from tidegate.core.quota.holdings import charge_workload
from tidegate.core.quota.readiness import readiness
from tidegate.core.quota.tree import (
    Cell,
    Node,
    cell_below_root,
    cell_of,
    compute_potential,
    compute_quota,
    infinite_to_unlimited,
    root_of,
    unlimited_to_infinite,
)
from tidegate.core.state.cluster_queues import ClusterQueueState, Forest, Tree
from tidegate.core.state.state import Intent, State
from tidegate.core.state.workload import Group, Slot
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import COHORTS_MAX, Quota, ResourceGroup


def forest(state: State) -> Forest:
    """Return the state's forest; builds it again if definitions have changed."""
    if state.forest.stale:
        _rebuild_forest(state, keeps=False)
    return state.forest


def update_forest(state: State) -> None:
    """Build the forest again after a definition of quota; trees that it leaves equal are kept."""
    keeps, state.forest.stale = not state.forest.stale, True
    _rebuild_forest(state, keeps=keeps)


def affected_trees(state: State, event: object) -> list[Tree]:
    """Return the trees in which an event may make workloads fit that did not, by Kueue's rules.

    All, but a Cohort's event and a ClusterQueue's concern their own tree only.
    """
    trees = forest(state).trees
    if isinstance(event, ClusterQueueDefined):
        return [tree for tree in trees if any(q.name == event.name for q in tree.cluster_queues)]
    if isinstance(event, CohortDefined):
        cohort = state.forest.cohorts.get(event.name)
        return [tree for tree in trees if cohort is not None and tree.root is root_of(cohort)]
    return trees


def _rebuild_forest(state: State, *, keeps: bool) -> None:
    """Build the forest; ``keeps``: only a definition of quota has changed, so equal trees stay."""
    old, new = state.forest, Forest(stale=False, pods=state.forest.pods)
    new.to_reconcile = old.to_reconcile
    new.topologies, new.pod_requests = old.topologies, old.pod_requests
    state.forest = new
    cyclic = _create_cohort_nodes(state, new)
    order = _cohorts_top_down(new)
    trees: dict[tuple[bool, str], Tree] = {}
    for name in sorted({**state.objects.cluster_queues, **state.objects.removed_queues}):
        _add_cluster_queue(state, new, name, cyclic, trees)
    new.trees = list(trees.values())
    _compute_quotas(new, order)
    if keeps:
        keep_equal_trees(old, new)
    for tree in new.trees:
        tree.left_seq = tree.outside_seq = state.redefined_seq
        for cluster_queue in tree.cluster_queues:
            cluster_queue.outside_seq = state.redefined_seq
            cluster_queue.below_root = list(_quotas_below_root(cluster_queue))
    new.topology_trees = [
        tree for tree in new.trees if any(cq.has_topologies for cq in tree.cluster_queues)
    ]
    new.dirty = list(new.trees)
    _take_over_queues(old, new)
    _charge_workloads(state, old, new)


def _create_cohort_nodes(state: State, new: Forest) -> set[str]:
    """Create the cohorts' nodes; return the names of cohorts below a cycle or a long chain."""
    defined = state.objects.cohorts
    parents = {name: cohort.spec.parent for name, cohort in defined.items()}
    queues = (*state.objects.cluster_queues.values(), *state.objects.removed_queues.values())
    named = [queue.spec.cohort for queue in queues]
    names = sorted({*parents, *filter(None, parents.values()), *filter(None, named)})
    cyclic = {name for name in names if _has_cyclic_ancestors(name, parents)}
    for name in names:
        weight = defined[name].spec.weight if name in defined else None
        node = Node(name=name, is_cohort=True)
        if weight is not None:
            node.weight = weight
        new.cohorts[name] = node
    for name in names:
        parent = parents.get(name, "")
        if parent and name not in cyclic:
            _set_parent(new.cohorts[name], new.cohorts[parent])
    for node in _cohorts_top_down(new):
        if node.name in defined:
            _set_quotas(node, defined[node.name].spec.groups)
    return cyclic


def _has_cyclic_ancestors(name: str, parents: dict[str, str]) -> bool:
    """Tell whether a cohort's ancestors form a cycle, or are more than any rule could walk."""
    steps = 0
    while name and steps < COHORTS_MAX:
        steps += 1
        name = parents.get(name, "")
    return bool(name)


def _set_parent(node: Node, parent: Node) -> None:
    node.parent = parent
    parent.children.append(node)


def _cohorts_top_down(new: Forest) -> list[Node]:
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
    in_cycle = spec.cohort in cyclic
    if spec.cohort and not in_cycle:
        _set_parent(node, new.cohorts[spec.cohort])
    _set_quotas(node, spec.groups)
    tree = _tree_of(trees, node, state.seq)
    tree.cyclic = in_cycle
    groups = [_build_group(state, node, group) for group in spec.groups]
    cluster_queue = ClusterQueueState(name=name, spec=spec, node=node, tree=tree, groups=groups)
    for group in groups:
        for resource in group.resources:
            cluster_queue.group_of.setdefault(resource, group)
    slots = (slot for group in groups for slot in group.slots)
    placing = [slot.spec is not None and bool(slot.spec.topology) for slot in slots]
    cluster_queue.has_topologies = any(placing)
    cluster_queue.only_topologies = bool(placing) and all(placing)
    cluster_queue.active = readiness(state, name).active and not in_cycle
    tree.cluster_queues.append(cluster_queue)
    tree.by_node[id(node)] = cluster_queue
    new.cluster_queues[name] = cluster_queue


def _set_quotas(node: Node, groups: Iterable[ResourceGroup]) -> None:
    for group in groups:
        for flavor in group.flavors:
            for resource in dict.fromkeys((*group.resources, *flavor.quotas)):
                quota = flavor.quotas.get(resource, Quota(nominal=0))
                cell = cell_of(node, flavor_resource(flavor.flavor, resource))
                cell.nominal = unlimited_to_infinite(quota.nominal)
                cell.lending = _tree_limit(quota.lending_limit)
                cell.borrowing = _tree_limit(quota.borrowing_limit)
                _mark_defined(cell)


def _tree_limit(quota: int | None) -> int | None:
    return None if quota is None else unlimited_to_infinite(quota)


def _mark_defined(cell: Cell) -> None:
    at: Cell | None = cell
    while at is not None and not at.defined:
        at.defined = True
        at = at.parent


def _tree_of(trees: dict[tuple[bool, str], Tree], node: Node, stamp: int) -> Tree:
    root = root_of(node)
    key = (root.is_cohort, root.name)
    if key not in trees:
        trees[key] = Tree(root=root, stamp=stamp)
    return trees[key]


def _build_group(state: State, node: Node, group: ResourceGroup) -> Group:
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


def _compute_quotas(new: Forest, order: list[Node]) -> None:  # noqa: C901 - three walks, in this order
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
            compute_quota(
                cell,
                sum(cell.subtree_quota - cell.local_quota for cell in below if cell is not None),
            )
    for node in (*order, *queues):
        for cell in node.cells.values():
            compute_potential(cell)
        if node.parent is not None:
            node.lendable = _lendable_amounts(node.parent)


def _quotas_below_root(cq: ClusterQueueState) -> Iterator[list[Cell]]:
    for slot in (slot for group in cq.groups for slot in group.slots):
        cells = map(cell_below_root, slot.cells.values())
        if quotas := [cell for cell in cells if cell.subtree_quota > 0]:
            yield quotas


def _lendable_amounts(parent: Node) -> dict[str, int]:
    total: dict[str, int] = {}
    root = root_of(parent)
    for fr, cell in parent.cells.items():
        if root.cells[fr].defined:
            most = total.get(fr.resource, 0) + infinite_to_unlimited(cell.potential)
            total[fr.resource] = min(UNLIMITED, most)
    return total


def _take_over_queues(old: Forest, new: Forest) -> None:
    """Take over the pending workloads of ClusterQueues whose tree was built again."""
    for name, queue in new.cluster_queues.items():
        before = old.cluster_queues.get(name)
        if before is not None and before is not queue:
            queue.shapes, queue.heap = before.shapes, before.heap
            queue.waiting, queue.displaced = before.waiting, before.displaced
            forget_watches(queue)


def _charge_workloads(state: State, old: Forest, new: Forest) -> None:
    """Charge workloads with quota in trees that were built again; reconcile all workloads."""
    built = {
        name: queue
        for name, queue in new.cluster_queues.items()
        if queue is not old.cluster_queues.get(name)
    }
    new.to_reconcile.update(dict.fromkeys(state.workloads))  # a rule may have decisions about them
    for workload in state.workloads.values():
        if workload.phase not in HOLDING:
            continue
        if workload.cluster_queue in built:
            charge_workload(new, workload)
        if not workload.ready:
            new.unready[workload.key] = None
    for intent in state.intents.values():
        if intent.cluster_queue in built:
            count_intent_usage(new, intent, 1)


def count_intent_usage(trees: Forest, intent: Intent, sign: int) -> None:
    """Add (1) or subtract (-1) the quota that an intent reserves in its ClusterQueue."""
    queue = trees.cluster_queues.get(intent.cluster_queue)
    for fr, units in () if queue is None else intent.charges:
        assert queue is not None
        queue.intent_units[fr] = queue.intent_units.get(fr, 0) + sign * units
