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
    asks = [_ask(told, placer) for told in case.input["podSets"]]
    found = _replaced(case, placer, asks)
    names = [ask.podset.name for ask in asks]
    if found is None:
        found = dict(zip(names, place(placer, asks), strict=True))
    yield from compare("podsets", sorted(case.expected["results"]), sorted(found))
    for name, told in case.expected["results"].items():
        yield from _compare(name, told, found[name], placer)


def _placer(case: Case) -> Placer:
    given = case.input
    foreign, wanted = usage(given.get("pods", ())), given.get("flavorNodeLabels", {})
    nodes = [
        Node(name=name, spec=node_spec(one), usage=foreign.get(name, {}))
        for one in given["nodes"]
        if (name := one["metadata"]["name"]) is not None
    ]
    gates = case.gates
    return Placer(
        tree=build(
            given["levels"],
            (one for one in nodes if wanted.items() <= one.spec.labels.items()),
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
        for one in case.input.get(used, ()):
            leaf = tree.number[tuple(one["values"])]
            tree.charge(leaf, {**one["singlePodRequests"], PODS: 1}, one["count"])


def _ask(told: Json, placer: Placer) -> Ask:
    before = told.get("previousAssignment")
    gone, previous = False, None
    if before is not None:
        previous = leaves_of(placer.tree, list(unpack(placement(before))))
        gone = previous is None
    return Ask(
        podset=podset(told["podSet"]),
        count=told["count"],
        each=told["singlePodRequests"],
        group=told.get("podSetGroupName", ""),
        implied=told.get("implied", False),
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
        one["name"]: placement(one["topologyAssignment"])
        for one in workload["status"]["admission"]["podSetAssignments"]
    }
    by_name = {ask.podset.name: ask for ask in asks}
    if _stays(case, workload):
        return {name: _as_it_is(placer, given[name]) for name in by_name}
    node = failed[0]["name"]
    return {name: replacement(placer, ask, given[name], node) for name, ask in by_name.items()}


def _stays(case: Case, workload: Json) -> bool:
    owners = workload["metadata"].get("ownerReferences", ())
    owned = [one["kind"] for one in owners] == ["Pod"]
    grouped = workload["metadata"].get("annotations", {}).get(_GROUP_LABEL) == "true"
    return case.gates.get("SkipReassignmentForPodOwnedWorkloads", True) and owned and not grouped


def _as_it_is(placer: Placer, before: TopologyAssignment) -> Outcome:
    tree = placer.tree
    return Placed(leaves=tuple((tree.number[one.values], one.count) for one in unpack(before)))


def _compare(name: str, told: Json, found: Outcome, placer: Placer) -> Iterator[str]:
    if isinstance(found, Failure):
        yield from compare(f"{name} failure", told.get("failure", {}).get("kind"), _kind(found))
        yield from compare(f"{name} failure", _numbers(told.get("failure", {})), _found(found))
        return
    wanted = told.get("topologyAssignment", {"domains": ()})["domains"]
    placed = domains(placer.recorded(found)) if found.leaves else {}
    values = {"/".join(one["values"][-_depth(placer) :]): one["count"] for one in wanted}
    yield from compare(f"{name} domains", values, placed)


def _depth(placer: Placer) -> int:
    return 1 if placer.tree.by_node else len(placer.tree.levels)


def _kind(found: Failure) -> str:
    if found.kind == "layers":
        return "sliceLayers"
    if found.kind == "pods":
        return "partial" if found.fits else "none"
    return found.kind


def _numbers(told: Json) -> Json:
    layers = [(one["level"], one["fits"], one["of"]) for one in told.get("layers", ())]
    return {
        "fits": told.get("fits", 0),
        "of": told.get("of", 0),
        "unit": told.get("unit", "pod"),
        "layers": layers,
    }


def _found(found: Failure) -> Json:
    layers = [tuple(one) for one in found.layers]
    return {"fits": found.fits, "of": found.of, "unit": found.unit, "layers": layers}
