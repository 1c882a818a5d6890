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


def node_spec(document: Json) -> NodeSpec:
    """Translate what placement looks at in a Node."""
    status, spec = document.get("status", {}), document.get("spec", {})
    ready = [
        condition for condition in status.get("conditions", ()) if condition["type"] == "Ready"
    ]
    return NodeSpec(
        labels=document["metadata"].get("labels", {}),
        allocatable=amounts(status.get("allocatable", {})),
        taints=tuple(
            Taint(key=taint["key"], value=taint.get("value", ""), effect=taint["effect"])
            for taint in spec.get("taints", ())
        ),
        ready=ready[0]["status"] == "True" if ready else None,
        unschedulable=spec.get("unschedulable", False),
    )


def amounts(document: Json) -> dict[str, int]:
    """Translate quantities by resource."""
    return {name: amount(name, str(text)) for name, text in document.items()}


def usage(pods: Iterable[Json]) -> dict[str, dict[str, int]]:
    """Return what pods that are not placed use, by node: what ingest adds up."""
    fields: dict[str, dict[str, int]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if not node or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        total = fields.setdefault(node, {})
        for resource, units in (*_requests(pod), ("pods", 1)):
            total[resource] = total.get(resource, 0) + units
    return fields


def placement(document: Json) -> TopologyAssignment:
    """Translate a packed assignment."""
    return TopologyAssignment(
        levels=tuple(document["levels"]), slices=tuple(map(_slice, document.get("slices", ())))
    )


def domains(topology_assignment: TopologyAssignment) -> dict[str, int]:
    """Return an assignment as a map that compares whatever its order and its packing."""
    return {
        "/".join(topology_domain.values): topology_domain.count
        for topology_domain in unpack(topology_assignment)
    }


def _requests(pod: Json) -> Iterator[tuple[str, int]]:
    for container in pod["spec"].get("containers", ()):
        yield from amounts(container.get("resources", {}).get("requests", {})).items()


def _slice(document: Json) -> TopologySlice:
    counts = document["podCounts"]
    return TopologySlice(
        domains=document["domainCount"],
        values=tuple(map(_values, document["valuesPerLevel"])),
        pods=counts.get("universal", 0),
        pods_each=tuple(counts.get("individual", ())),
    )


def _values(document: Json) -> LevelValues:
    if "universal" in document:
        return LevelValues(universal=document["universal"])
    each = document["individual"]
    return LevelValues(
        prefix=each.get("prefix", ""), suffix=each.get("suffix", ""), roots=tuple(each["roots"])
    )
