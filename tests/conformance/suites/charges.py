"""Suites ``workload-info`` and ``adjust-resources``: what a workload is charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.pods import podset
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core.charges import podset_charges
from tidegate.core.draft import Draft
from tidegate.core.limits import adjusted
from tidegate.model.podset import Container, PodSet
from tidegate.model.quantity import parse


def run_info(case: Case, mode: str) -> Iterator[str]:
    """Compare the pods that still count and what they are charged together, by podset."""
    workload = case.input["workload"]
    draft = _with(case, mode, workload)
    known = draft.workloads[key(workload)]
    found = [
        {"name": one.name, "count": one.count, "requests": dict(one.requests)}
        for one in podset_charges(draft, known)
    ]
    wanted = [
        {"name": one["name"], "count": one["count"], "requests": one.get("requests", {})}
        for one in case.expected["totalRequests"]
    ]
    yield from compare("podsets", len(wanted), len(found))
    for told, one in zip(wanted, found, strict=False):
        yield from compare(told["name"], told, one)


def run_adjusted(case: Case, mode: str) -> Iterator[str]:
    """Compare the podsets once LimitRanges and RuntimeClasses had their say."""
    workload = case.input["workload"]
    draft = _with(case, mode, workload)
    namespace = workload.get("metadata", {}).get("namespace", "")
    for told, one in zip(
        case.expected["workload"]["spec"]["podSets"], workload["spec"]["podSets"], strict=True
    ):
        found = adjusted(draft.objects, namespace, podset(one))
        yield from compare(told["name"], _amounts(podset(told)), _amounts(found))


def _with(case: Case, mode: str, workload: Json) -> Draft:
    return stage(replace(case, input={**case.input, "workloads": [workload]}), mode)


def _amounts(one: PodSet) -> Json:
    """Return a podset's quantities by value: their text may differ."""
    return {
        "containers": [_container(each) for each in one.containers],
        "initContainers": [_container(each) for each in one.init_containers],
        "pod": None if one.pod_resources is None else _container(one.pod_resources),
        "overhead": _values(one.overhead),
    }


def _container(one: Container) -> Json:
    return {"requests": _values(one.requests), "limits": _values(one.limits)}


def _values(told: dict[str, str]) -> dict[str, Fraction]:
    return {name: parse(text) for name, text in told.items()}
