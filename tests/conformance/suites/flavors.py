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
from tidegate.core.flavors.assignment import assign
from tidegate.core.flavors.choices import Assignment, PodSetChoice, external
from tidegate.core.flavors.fitting import NO_CANDIDATES, PREEMPT, RECLAIM, Oracle
from tidegate.core.quota import tree
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import amount, render

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
        tree.add(queue(state, name), usage.items())
    found = assign(
        state,
        state.workloads[key(workload)],
        cq=cq(state, case.input["targetClusterQueue"]),
        oracle=_oracle(case.input["preemptionOracle"]),
    )
    yield from _compare(case.expected, found)


def _replaced(case: Case) -> list[Json]:
    """Return the older slice of an elastic job as a workload, named by the newer one."""
    told = case.input.get("replacedWorkloadSlice")
    if told is None:
        return []
    newer = case.input["workload"]
    meta = newer.setdefault("metadata", {})
    older = {"name": "older-slice", "namespace": meta.get("namespace", "")}
    meta.setdefault("annotations", {})[_REPLACES] = f"{older['namespace']}/{older['name']}"
    admission = {
        "clusterQueue": case.input["targetClusterQueue"],
        "podSetAssignments": [
            {
                "name": one["name"],
                "count": one["count"],
                "flavors": one["flavors"],
                "resourceUsage": {
                    name: render(name, units) for name, units in one["requests"].items()
                },
            }
            for one in told["totalRequests"]
        ],
    }
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    status = {"admission": admission, "conditions": [reserved]}
    return [{"metadata": older, "spec": newer["spec"], "status": status}]


def _usage(case: Case) -> dict[str, dict[FlavorResource, int]]:
    """Return the usage to add; what the older slice holds is among it already."""
    usage = {name: flat(told) for name, told in case.input.get("usage", {}).items()}
    own = usage.setdefault(case.input["targetClusterQueue"], {})
    for one in case.input.get("replacedWorkloadSlice", {}).get("totalRequests", ()):
        for resource, units in one["requests"].items():
            fr = FlavorResource(one["flavors"][resource], resource)
            own[fr] = own.get(fr, 0) - units
    return usage


def _oracle(told: Json) -> Oracle:
    default: Json = told["default"]
    answers: dict[FlavorResource, Json] = {
        FlavorResource(one["flavor"], one["resource"]): one for one in told["results"]
    }

    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        del units  # the recorded answers hold for any amount
        one = answers.get(fr, default)
        return _POSSIBILITIES[one["possibility"]], one["borrowingAfter"]

    return answer


def _compare(expected: Json, found: Assignment) -> Iterator[str]:
    yield from compare("representativeMode", expected["representativeMode"], found.mode)
    yield from compare("noFitReason", expected["noFitReason"], found.reason or "")
    if expected["representativeMode"] != "NoFit":
        yield from compare("borrowing", expected["borrowing"], found.borrows)
        yield from compare("usage", without_zeros(expected["usage"]), nested(found.usage))
    names = [one["name"] for one in expected["podSets"]]
    yield from compare("podSets", names, [one.name for one in found.podsets])
    for told, one in zip(expected["podSets"], found.podsets, strict=False):
        yield from _compare_podset(told, one)


def _compare_podset(told: Json, one: PodSetChoice) -> Iterator[str]:
    name = told["name"]
    requests = {
        resource: amount(resource, text) for resource, text in told.get("requests", {}).items()
    }
    yield from compare(f"{name} mode", told["mode"], one.mode)
    yield from compare(f"{name} count", told["count"], one.count)
    yield from compare(f"{name} requests", requests, dict(one.requests))
    found = {
        resource: {
            "flavor": choice.flavor,
            "mode": external(choice.mode),
            "borrow": choice.borrow,
            "triedFlavorIdx": choice.tried,
        }
        for resource, choice in one.choices.items()
    }
    yield from compare(f"{name} flavors", told.get("flavors", {}), found)
