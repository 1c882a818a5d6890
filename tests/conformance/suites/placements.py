"""Suite ``tas-assignment``: podsets on one topology, without queues."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.cases import Case, Json
from tests.conformance.pods import podset
from tests.conformance.report import compare
from tests.conformance.topologies import domains, node_spec, placement, usage
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.fitting.tree import PODS, Node, build
from tidegate.core.topology.place import Ask, Options, Outcome, Placed, Placer, place
from tidegate.core.topology.previous import leaves_of, replacement
from tidegate.model.topology import TopologyAssignment, unpack

_ELASTIC = ("ElasticJobsViaWorkloadSlices", "ElasticJobsViaWorkloadSlicesWithTAS")
_GROUP_LABEL = "kueue.x-k8s.io/is-group-workload"


def run(case: Case, mode: str) -> Iterator[str]:
    """Compare where each podset goes, or why it cannot."""
    del mode  # both place alike
    placer = _placer(case)
    _charge(case, placer)
    asks = [_ask(candidate_podset, placer) for candidate_podset in case.input["podSets"]]
    mapping = _replaced(case, placer, asks)
    names = [ask.podset.name for ask in asks]
    if mapping is None:
        mapping = dict(zip(names, place(placer, asks), strict=True))
    yield from compare("podsets", sorted(case.expected["results"]), sorted(mapping))
    for name, value in case.expected["results"].items():
        yield from _compare(name, value, mapping[name], placer)


def _placer(case: Case) -> Placer:
    given = case.input
    foreign, wanted = usage(given.get("pods", ())), given.get("flavorNodeLabels", {})
    nodes = [
        Node(name=name, spec=node_spec(node), usage=foreign.get(name, {}))
        for node in given["nodes"]
        if (name := node["metadata"]["name"]) is not None
    ]
    gates = case.gates
    return Placer(
        tree=build(
            given["levels"],
            (node for node in nodes if wanted.items() <= node.spec.labels.items()),
        ),
        options=Options(
            mixed=gates.get("TASProfileMixed", True),
            balanced=gates.get("TASBalancedPlacement", False),
            affinity=gates.get("TASRespectNodeAffinityPreferred", False),
            elastic=all(gates.get(name, False) for name in _ELASTIC),
        ),
    )


def _charge(case: Case, placer: Placer) -> None:
    tree = placer.tree
    for used in ("ownFlavorUsage", "siblingFlavorUsage"):
        for charge in case.input.get(used, ()):
            leaf = tree.number[tuple(charge["values"])]
            tree.charge(leaf, {**charge["singlePodRequests"], PODS: 1}, charge["count"])


def _ask(document: Json, placer: Placer) -> Ask:
    before = document.get("previousAssignment")
    gone, previous = False, None
    if before is not None:
        previous = leaves_of(placer.tree, list(unpack(placement(before))))
        gone = previous is None
    return Ask(
        podset=podset(document["podSet"]),
        count=document["count"],
        each=document["singlePodRequests"],
        group=document.get("podSetGroupName", ""),
        implied=document.get("implied", False),
        previous=previous,
        gone=gone,
        counted=False,
    )


def _replaced(case: Case, placer: Placer, asks: list[Ask]) -> dict[str, Outcome] | None:
    """Return replacements for a failed node, where there is one."""
    workload = case.input.get("workload", {})
    failed = workload.get("status", {}).get("unhealthyNodes", ())
    if not failed:
        return None
    given = {
        assignment["name"]: placement(assignment["topologyAssignment"])
        for assignment in workload["status"]["admission"]["podSetAssignments"]
    }
    by_name = {ask.podset.name: ask for ask in asks}
    if _stays(case, workload):
        return {name: _as_it_is(placer, given[name]) for name in by_name}
    node = failed[0]["name"]
    return {name: replacement(placer, ask, given[name], node) for name, ask in by_name.items()}


def _stays(case: Case, workload: Json) -> bool:
    owners = workload["metadata"].get("ownerReferences", ())
    owned = [owner["kind"] for owner in owners] == ["Pod"]
    grouped = workload["metadata"].get("annotations", {}).get(_GROUP_LABEL) == "true"
    return case.gates.get("SkipReassignmentForPodOwnedWorkloads", True) and owned and not grouped


def _as_it_is(placer: Placer, before: TopologyAssignment) -> Outcome:
    tree = placer.tree
    return Placed(
        leaves=tuple(
            (tree.number[topology_domain.values], topology_domain.count)
            for topology_domain in unpack(before)
        )
    )


def _compare(name: str, document: Json, result: Outcome, placer: Placer) -> Iterator[str]:
    if isinstance(result, Failure):
        yield from compare(
            f"{name} failure", document.get("failure", {}).get("kind"), _kind(result)
        )
        yield from compare(f"{name} failure", _numbers(document.get("failure", {})), _found(result))
        return
    wanted = document.get("topologyAssignment", {"domains": ()})["domains"]
    placed = domains(placer.to_assignment(result)) if result.leaves else {}
    values = {"/".join(domain["values"][-_depth(placer) :]): domain["count"] for domain in wanted}
    yield from compare(f"{name} domains", values, placed)


def _depth(placer: Placer) -> int:
    return 1 if placer.tree.by_node else len(placer.tree.levels)


def _kind(failure: Failure) -> str:
    if failure.kind == "layers":
        return "sliceLayers"
    if failure.kind == "pods":
        return "partial" if failure.fits else "none"
    return failure.kind


def _numbers(document: Json) -> Json:
    layers = [(layer["level"], layer["fits"], layer["of"]) for layer in document.get("layers", ())]
    return {
        "fits": document.get("fits", 0),
        "of": document.get("of", 0),
        "unit": document.get("unit", "pod"),
        "layers": layers,
    }


def _found(failure: Failure) -> Json:
    layers = [tuple(layer) for layer in failure.layers]
    return {"fits": failure.fits, "of": failure.of, "unit": failure.unit, "layers": layers}
