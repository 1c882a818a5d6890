"""Recorded nodes, pods and placements as the core's, for the suites that have any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.conformance.cases import Json
from tidegate.model.quantity import amount
from tidegate.model.topology import (
    LevelValues,
    NodeSpec,
    Taint,
    TopologyAssignment,
    TopologySlice,
    unpack,
)


def node_spec(told: Json) -> NodeSpec:
    """Translate what placement looks at in a Node."""
    status, spec = told.get("status", {}), told.get("spec", {})
    ready = [one for one in status.get("conditions", ()) if one["type"] == "Ready"]
    return NodeSpec(
        labels=told["metadata"].get("labels", {}),
        allocatable=amounts(status.get("allocatable", {})),
        taints=tuple(
            Taint(key=one["key"], value=one.get("value", ""), effect=one["effect"])
            for one in spec.get("taints", ())
        ),
        ready=ready[0]["status"] == "True" if ready else None,
        unschedulable=spec.get("unschedulable", False),
    )


def amounts(told: Json) -> dict[str, int]:
    """Translate quantities by resource."""
    return {name: amount(name, str(text)) for name, text in told.items()}


def usage(pods: Iterable[Json]) -> dict[str, dict[str, int]]:
    """Return what pods that are not placed use, by node: what ingest adds up."""
    found: dict[str, dict[str, int]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if not node or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        total = found.setdefault(node, {})
        for resource, units in (*_requests(pod), ("pods", 1)):
            total[resource] = total.get(resource, 0) + units
    return found


def placement(told: Json) -> TopologyAssignment:
    """Translate a packed assignment."""
    return TopologyAssignment(
        levels=tuple(told["levels"]), slices=tuple(map(_slice, told.get("slices", ())))
    )


def domains(told: TopologyAssignment) -> dict[str, int]:
    """Return an assignment as a map that compares whatever its order and its packing."""
    return {"/".join(one.values): one.count for one in unpack(told)}


def _requests(pod: Json) -> Iterator[tuple[str, int]]:
    for container in pod["spec"].get("containers", ()):
        yield from amounts(container.get("resources", {}).get("requests", {})).items()


def _slice(told: Json) -> TopologySlice:
    counts = told["podCounts"]
    return TopologySlice(
        domains=told["domainCount"],
        values=tuple(map(_values, told["valuesPerLevel"])),
        pods=counts.get("universal", 0),
        pods_each=tuple(counts.get("individual", ())),
    )


def _values(told: Json) -> LevelValues:
    if "universal" in told:
        return LevelValues(universal=told["universal"])
    each = told["individual"]
    return LevelValues(
        prefix=each.get("prefix", ""), suffix=each.get("suffix", ""), roots=tuple(each["roots"])
    )
