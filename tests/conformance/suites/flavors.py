"""Suite ``flavorassigner``: the flavors of one workload, with the search for victims played."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.conformance.amounts import flat, nested, without_zeros
from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.nodes import cq, queue
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core.flavors.assignment import assign_flavors
from tidegate.core.flavors.choices import Assignment, PodSetChoice, mode_name
from tidegate.core.flavors.fitting import NO_CANDIDATES, PREEMPT, RECLAIM, Oracle
from tidegate.core.quota import tree
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import amount, format_quantity

_REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
_POSSIBILITIES = {
    "NoCandidates": NO_CANDIDATES,
    "Preempt": PREEMPT,
    "Reclaim": RECLAIM,
}


def run(case: Case, mode: str) -> Iterator[str]:
    """Compare the mode, level, flavors and usage of an assignment, and where the scan stopped."""
    workload = case.input["workload"]
    given = {**case.input, "workloads": [workload, *_replaced(case)]}
    state = stage(replace(case, input=given), mode)
    for name, usage in _usage(case).items():
        tree.add_usage(queue(state, name), usage.items())
    assignment = assign_flavors(
        state,
        state.workloads[key(workload)],
        cq=cq(state, case.input["targetClusterQueue"]),
        oracle=_oracle(case.input["preemptionOracle"]),
    )
    yield from _compare(case.expected, assignment)


def _replaced(case: Case) -> list[Json]:
    """Return the older slice of an elastic job as a workload, named by the newer one."""
    replaced_workload_slice = case.input.get("replacedWorkloadSlice")
    if replaced_workload_slice is None:
        return []
    newer = case.input["workload"]
    meta = newer.setdefault("metadata", {})
    older = {"name": "older-slice", "namespace": meta.get("namespace", "")}
    meta.setdefault("annotations", {})[_REPLACES] = f"{older['namespace']}/{older['name']}"
    admission = {
        "clusterQueue": case.input["targetClusterQueue"],
        "podSetAssignments": [
            {
                "name": request["name"],
                "count": request["count"],
                "flavors": request["flavors"],
                "resourceUsage": {
                    name: format_quantity(name, units)
                    for name, units in request["requests"].items()
                },
            }
            for request in replaced_workload_slice["totalRequests"]
        ],
    }
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    status = {"admission": admission, "conditions": [reserved]}
    return [{"metadata": older, "spec": newer["spec"], "status": status}]


def _usage(case: Case) -> dict[str, dict[FlavorResource, int]]:
    """Return the usage to add; what the older slice holds is among it already."""
    usage = {name: flat(value) for name, value in case.input.get("usage", {}).items()}
    own = usage.setdefault(case.input["targetClusterQueue"], {})
    for request in case.input.get("replacedWorkloadSlice", {}).get("totalRequests", ()):
        for resource, units in request["requests"].items():
            fr = FlavorResource(request["flavors"][resource], resource)
            own[fr] = own.get(fr, 0) - units
    return usage


def _oracle(document: Json) -> Oracle:
    default: Json = document["default"]
    answers: dict[FlavorResource, Json] = {
        FlavorResource(result["flavor"], result["resource"]): result
        for result in document["results"]
    }

    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        del units  # the recorded answers hold for any amount
        fields = answers.get(fr, default)
        return _POSSIBILITIES[fields["possibility"]], fields["borrowingAfter"]

    return answer


def _compare(expected: Json, assignment: Assignment) -> Iterator[str]:
    yield from compare("representativeMode", expected["representativeMode"], assignment.mode)
    yield from compare("noFitReason", expected["noFitReason"], assignment.reason or "")
    if expected["representativeMode"] != "NoFit":
        yield from compare("borrowing", expected["borrowing"], assignment.borrows)
        yield from compare("usage", without_zeros(expected["usage"]), nested(assignment.usage))
    names = [podset["name"] for podset in expected["podSets"]]
    yield from compare("podSets", names, [podset.name for podset in assignment.podsets])
    for value, podset in zip(expected["podSets"], assignment.podsets, strict=False):
        yield from _compare_podset(value, podset)


def _compare_podset(document: Json, podset: PodSetChoice) -> Iterator[str]:
    name = document["name"]
    requests = {
        resource: amount(resource, text) for resource, text in document.get("requests", {}).items()
    }
    yield from compare(f"{name} mode", document["mode"], podset.mode)
    yield from compare(f"{name} count", document["count"], podset.count)
    yield from compare(f"{name} requests", requests, dict(podset.requests))
    mapping = {
        resource: {
            "flavor": choice.flavor,
            "mode": mode_name(choice.mode),
            "borrow": choice.borrow,
            "triedFlavorIdx": choice.tried,
        }
        for resource, choice in podset.choices.items()
    }
    yield from compare(f"{name} flavors", document.get("flavors", {}), mapping)
