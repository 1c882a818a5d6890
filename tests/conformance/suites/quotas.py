"""Suites ``quota``, ``dominant-share`` and ``usage-report``: arithmetic in the cohort tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from actuator.projection.queues.numbers import Numbers
from actuator.projection.queues.statuses import cluster_queue_status, local_queue_status
from actuator.projection.read_model import ReadModel
from tests.conformance.amounts import at_each, flat, nested, without_zeros
from tests.conformance.cases import Case, Json
from tests.conformance.histories import history, key
from tests.conformance.nodes import cohort, queue
from tests.conformance.report import compare
from tests.conformance.stage import definitions, opening, policy, stage
from tidegate.core.preemption.trial import is_within_quota
from tidegate.core.quota import shares, tree
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import amount


def run_quota(case: Case, mode: str) -> Iterator[str]:
    """Compare what is available and what the nodes hold, also after usage was taken away."""
    state = stage(case, mode)
    nodes = _nodes(state, case)
    expected = case.expected
    if "lendable" in expected:
        lendable = _lendable(cohort(state, case.input["cohort"]))
        yield from compare("lendable", expected["lendable"], lendable)
        return
    used = {name: flat(usage) for name, usage in case.input.get("usage", {}).items()}
    for name, usage in used.items():
        tree.add_usage(nodes[name], usage.items())
    yield from _compare_each("available", expected, nodes, _available)
    yield from _compare_each("potentialAvailable", expected, nodes, _potential)
    for name, value in expected["clusterQueueNodes"].items():
        yield from _compare_node(name, value, nodes[name])
    for name, value in expected["cohortNodes"].items():
        yield from _compare_node(name, value, cohort(state, name))
    for name, usage in used.items():
        tree.remove_usage(nodes[name], usage.items())
    yield from _compare_each("availableAfterUsageRemoved", expected, nodes, _available)


def run_share(case: Case, mode: str) -> Iterator[str]:
    """Compare the dominant resource shares, or whether a ClusterQueue borrows."""
    state = stage(case, mode)
    nodes = _nodes(state, case)
    for name, usage in case.input["usage"].items():
        tree.add_usage(nodes[name], flat(usage).items())
    expected = case.expected
    extra = flat(case.input.get("extraRequest", {}))
    for share in expected.get("shares", ()):
        name = share["name"]
        node = cohort(state, name) if share["kind"] == "Cohort" else nodes[name]
        yield from compare(f"share of {name}", share, _share(share, node, extra))
    if "borrowing" in expected:
        node = nodes[case.input["clusterQueue"]]
        wanted = flat(case.input.get("requestedFlavorResources", {}))
        fields = {
            "borrowing": shares.is_borrowing(node),
            "borrowingOnRequested": not is_within_quota(node, tuple(wanted)),
        }
        yield from compare("it", expected, fields)


def run_usage(case: Case, mode: str) -> Iterator[str]:
    """Compare the usage that a ClusterQueue's or a LocalQueue's status reports."""
    local = case.input.get("localQueue")
    given = {**case.input, "localQueues": [local] if local else []}
    model = _projected(replace(case, input=given), mode)
    if value := case.expected.get("clusterQueueStatus"):
        name = case.input["clusterQueues"][0]["metadata"]["name"]
        numbers = model.numbers.cluster_queues.get(name, Numbers())
        spec, readiness = model.cluster_queues[name].spec, model.readiness.get(name)
        fields = cluster_queue_status(spec, numbers, readiness, None, {})
        yield from _compare_usage(value, fields)
    if local and (value := case.expected.get("localQueueStatus")):
        numbers = model.numbers.local_queues.get(key(local), Numbers())
        defined = model.local_queues[key(local)]
        cluster_queue = model.cluster_queues.get(defined.spec.cluster_queue)
        leads_to = None if cluster_queue is None else cluster_queue.spec
        yield from _compare_usage(value, local_queue_status(defined, leads_to, numbers, None, {}))


def _projected(case: Case, mode: str) -> ReadModel:
    """Return what the actuator shows of a case's objects and its workloads' past."""
    model = ReadModel()
    begin = [*opening(policy(case, mode)), *definitions(case.input)]
    for seq, event in enumerate([*begin, *history(case.input.get("workloads", ()))]):
        model.apply_event(event, f"conformance/{seq}")
    return model


def _nodes(state: State, case: Case) -> dict[str, tree.Node]:
    names = (obj["metadata"]["name"] for obj in case.input["clusterQueues"])
    return {name: queue(state, name) for name in names}


def _lendable(node: tree.Node) -> dict[str, int]:
    """Return by resource what could ever be available at a node, of all flavors together."""
    total: dict[str, int] = {}
    for fr, cell in node.cells.items():
        total[fr.resource] = total.get(fr.resource, 0) + cell.potential
    return {resource: tree.infinite_to_unlimited(units) for resource, units in total.items()}


def _potential(node: tree.Node, fr: FlavorResource) -> int:
    return tree.infinite_to_unlimited(tree.cell_of(node, fr).potential)


def _available(node: tree.Node, fr: FlavorResource) -> int:
    return max(0, tree.available(node, fr))


def _compare_each(
    member: str,
    expected: Json,
    nodes: dict[str, tree.Node],
    value: Callable[[tree.Node, FlavorResource], int],
) -> Iterator[str]:
    for name, result in expected[member].items():
        mapping = at_each(result, partial(value, nodes[name]))
        yield from compare(f"{member} of {name}", result, mapping)


def _compare_node(name: str, document: Json, node: tree.Node) -> Iterator[str]:
    quota = {fr: tree.infinite_to_unlimited(cell.subtree_quota) for fr, cell in node.cells.items()}
    usage = {fr: cell.usage for fr, cell in node.cells.items()}
    for member, mapping in (("subtreeQuota", quota), ("usage", usage)):
        expected = without_zeros(document.get(member, {}))
        yield from compare(f"{member} of {name}", expected, nested(mapping))


def _share(document: Json, node: tree.Node, extra: dict[FlavorResource, int]) -> Json:
    share = shares.dominant_share(node, extra)
    return {
        "name": document["name"],
        "kind": document["kind"],
        "borrowing": share.borrowing,
        "dominantResource": share.resource,
        "preciseShare": _like(document["preciseShare"], share.precise()),
        "share": share.rounded(),
    }


def _like(text: str, message: str) -> str:
    """Return the recorded text of a share if ours is the same double: Kueue's is one."""
    return text if float(text) == float(message) else message


def _compare_usage(document: Json, result: Json) -> Iterator[str]:
    for member in ("reservingWorkloads", "admittedWorkloads"):
        yield from compare(member, document[member], result[member])
    for member in ("flavorsReservation", "flavorsUsage"):
        if member in document:
            yield from compare(member, _amounts(document[member]), _amounts(result[member]))


def _amounts(flavors: list[Json]) -> Json:
    """Return by flavor and resource what is used, and borrowed if that is reported."""
    return {
        f"{flavor['name']} {row['name']}": [
            amount(row["name"], row[field]) for field in ("total", "borrowed") if field in row
        ]
        for flavor in flavors
        for row in flavor["resources"]
    }
