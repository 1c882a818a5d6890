"""Suites ``quota``, ``dominant-share`` and ``usage-report``: arithmetic in the cohort tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.conformance.amounts import at_each, flat, nested, without_zeros
from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.nodes import cohort, queue
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core.queueing.usage import QueueUsage, local_queue_usage, queue_usage
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
        found = shares.lendable(cohort(state, case.input["cohort"]))
        yield from compare("lendable", expected["lendable"], found)
        return
    used = {name: flat(usage) for name, usage in case.input.get("usage", {}).items()}
    for name, usage in used.items():
        tree.charge(nodes[name], usage)
    yield from _compare_each("available", expected, nodes, _available)
    yield from _compare_each("potentialAvailable", expected, nodes, tree.potential)
    for name, told in expected["clusterQueueNodes"].items():
        yield from _compare_node(name, told, nodes[name])
    for name, told in expected["cohortNodes"].items():
        yield from _compare_node(name, told, cohort(state, name))
    for name, usage in used.items():
        tree.discharge(nodes[name], usage)
    yield from _compare_each("availableAfterUsageRemoved", expected, nodes, _available)


def run_share(case: Case, mode: str) -> Iterator[str]:
    """Compare the dominant resource shares, or whether a ClusterQueue borrows."""
    state = stage(case, mode)
    nodes = _nodes(state, case)
    for name, usage in case.input["usage"].items():
        tree.charge(nodes[name], flat(usage))
    expected = case.expected
    extra = flat(case.input.get("extraRequest", {}))
    for told in expected.get("shares", ()):
        name = told["name"]
        node = cohort(state, name) if told["kind"] == "Cohort" else nodes[name]
        yield from compare(f"share of {name}", told, _share(told, node, extra))
    if "borrowing" in expected:
        node = nodes[case.input["clusterQueue"]]
        wanted = flat(case.input.get("requestedFlavorResources", {}))
        found = {
            "borrowing": shares.borrows(node),
            "borrowingOnRequested": shares.borrows_on(node, wanted),
        }
        yield from compare("it", expected, found)


def run_usage(case: Case, mode: str) -> Iterator[str]:
    """Compare the usage that a ClusterQueue's or a LocalQueue's status reports."""
    local = case.input.get("localQueue")
    given = {**case.input, "localQueues": [local] if local else []}
    state = stage(replace(case, input=given), mode)
    if told := case.expected.get("clusterQueueStatus"):
        name = case.input["clusterQueues"][0]["metadata"]["name"]
        yield from _compare_usage(told, queue_usage(state, name))
    if local and (told := case.expected.get("localQueueStatus")):
        yield from _compare_usage(told, local_queue_usage(state, key(local)))


def _nodes(state: State, case: Case) -> dict[str, tree.Node]:
    names = (one["metadata"]["name"] for one in case.input["clusterQueues"])
    return {name: queue(state, name) for name in names}


def _available(node: tree.Node, fr: FlavorResource) -> int:
    return max(0, tree.available(node, fr))


def _compare_each(
    member: str,
    expected: Json,
    nodes: dict[str, tree.Node],
    value: Callable[[tree.Node, FlavorResource], int],
) -> Iterator[str]:
    for name, told in expected[member].items():
        found = at_each(told, partial(value, nodes[name]))
        yield from compare(f"{member} of {name}", told, found)


def _compare_node(name: str, told: Json, node: tree.Node) -> Iterator[str]:
    quota = {fr: tree.bounded(cell.quota) for fr, cell in node.cells.items()}
    usage = {fr: cell.usage for fr, cell in node.cells.items()}
    for member, found in (("subtreeQuota", quota), ("usage", usage)):
        expected = without_zeros(told.get(member, {}))
        yield from compare(f"{member} of {name}", expected, nested(found))


def _share(told: Json, node: tree.Node, extra: dict[FlavorResource, int]) -> Json:
    share = shares.share(node, extra)
    return {
        "name": told["name"],
        "kind": told["kind"],
        "borrowing": share.borrowing,
        "dominantResource": share.resource,
        "preciseShare": _like(told["preciseShare"], share.precise()),
        "share": share.rounded(),
    }


def _like(told: str, found: str) -> str:
    """Return the recorded text of a share if ours is the same double: Kueue's is one."""
    return told if float(told) == float(found) else found


def _compare_usage(told: Json, found: QueueUsage) -> Iterator[str]:
    yield from compare("reservingWorkloads", told["reservingWorkloads"], found.reserving)
    yield from compare("admittedWorkloads", told["admittedWorkloads"], found.admitting)
    for member, amounts in (
        ("flavorsReservation", found.reserved),
        ("flavorsUsage", found.admitted),
    ):
        for flavor in told.get(member, ()):
            for row in flavor["resources"]:
                fr = FlavorResource(flavor["name"], row["name"])
                expected = amount(row["name"], row["total"])
                yield from compare(f"{member} {fr}", expected, amounts.get(fr, 0))
