"""Suites ``workload-info`` and ``adjust-resources``: what a workload is charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.pods import podset
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core.quota.charging import charges_of, pod_count, requests_per_pod, total_requests
from tidegate.core.quota.requests import adjusted_podset, placement_requests
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import Container, PodSet
from tidegate.model.quantity import parse_quantity


def run_info(case: Case, mode: str) -> Iterator[str]:
    """Compare the pods that still count and what they are charged together, by podset."""
    workload = case.input["workload"]
    for given in workload.get("status", {}).get("admission", {}).get("podSetAssignments", ()):
        unnamed = dict.fromkeys(given.get("resourceUsage", ()), "unnamed")
        given["flavors"] = unnamed | given.get("flavors", {})  # some tell of no flavor
    state = _with(case, mode, workload)
    known = state.workloads[key(workload)]
    reservations = _reserved(known) if known.assignment else _asked(state, known)
    wanted = [
        {
            "name": request["name"],
            "count": request["count"],
            "requests": request.get("requests", {}),
        }
        for request in case.expected["totalRequests"]
    ]
    yield from compare("podsets", len(wanted), len(reservations))
    for fields, document in zip(wanted, reservations, strict=False):
        yield from compare(fields["name"], fields, document)
    told_places = [request.get("topologyRequest") for request in case.expected["totalRequests"]]
    yield from compare("places", told_places, _places(state, known, workload))


def run_adjusted(case: Case, mode: str) -> Iterator[str]:
    """Compare the podsets once LimitRanges and RuntimeClasses had their say."""
    workload = case.input["workload"]
    state = _with(case, mode, workload)
    namespace = workload.get("metadata", {}).get("namespace", "")
    for value, result in zip(
        case.expected["workload"]["spec"]["podSets"], workload["spec"]["podSets"], strict=True
    ):
        actual_podset = adjusted_podset(state.objects, namespace, podset(result))
        yield from compare(value["name"], _amounts(podset(value)), _amounts(actual_podset))


def _asked(state: State, workload: Workload) -> list[Json]:
    """Return what a pending workload asks for."""
    each = requests_per_pod(state, workload)
    return [
        _row(
            podset.name,
            pod_count(workload, podset),
            total_requests(pod, pod_count(workload, podset)),
        )
        for podset, pod in zip(workload.podsets, each, strict=True)
    ]


def _reserved(workload: Workload) -> list[Json]:
    """Return what a workload that holds quota is charged, podset by podset."""
    left = {podset.name: pod_count(workload, podset) for podset in workload.podsets}
    rows = []
    for given in workload.assignment:
        requests = {fr.resource: units for fr, units in charges_of(workload, (given,))}
        rows.append(_row(given.name, min(left[given.name], given.count), requests))
    return rows


def _places(state: State, known: Workload, workload: Json) -> list[Json | None]:
    """Return what the pods of each podset take of the domains that they were placed in."""
    namespace = workload.get("metadata", {}).get("namespace", "")
    given = workload.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    placed = {assignment["name"]: assignment.get("topologyAssignment") for assignment in given}
    return [
        _placed(
            placed.get(candidate_podset.name),
            placement_requests(state.objects, namespace, candidate_podset),
        )
        for candidate_podset in known.podsets
    ]


def _placed(assignment: Json | None, requests: dict[str, int]) -> Json | None:
    if assignment is None:
        return None
    domains = [
        {"count": count, "singlePodRequests": requests, "values": list(values)}
        for part in assignment["slices"]
        for count, *values in zip(
            _each(part["podCounts"], part["domainCount"]),
            *(_each(level, part["domainCount"]) for level in part["valuesPerLevel"]),
            strict=True,
        )
    ]
    return {"levels": assignment["levels"], "domainRequests": domains}


def _each(document: Json, count: int) -> list[Any]:
    """Return a value for each domain of a slice: one for all, or each its own."""
    if "universal" in document:
        return [document["universal"]] * count
    own = document["individual"]
    if isinstance(own, list):
        return own
    affixes = own.get("prefix", ""), own.get("suffix", "")
    return [affixes[0] + root + affixes[1] for root in own["roots"]]


def _row(name: str, pods: int, requests: dict[str, int]) -> Json:
    return {"name": name, "count": pods, "requests": requests}


def _with(case: Case, mode: str, workload: Json) -> State:
    return stage(replace(case, input={**case.input, "workloads": [workload]}), mode)


def _amounts(actual_podset: PodSet) -> Json:
    """Return a podset's quantities by value: their text may differ."""
    return {
        "containers": [_container(each) for each in actual_podset.containers],
        "initContainers": [_container(each) for each in actual_podset.init_containers],
        "pod": None
        if actual_podset.pod_resources is None
        else _container(actual_podset.pod_resources),
        "overhead": _values(actual_podset.overhead),
    }


def _container(container: Container) -> Json:
    return {"requests": _values(container.requests), "limits": _values(container.limits)}


def _values(obj: dict[str, str]) -> dict[str, Fraction]:
    return {name: parse_quantity(text) for name, text in obj.items()}
