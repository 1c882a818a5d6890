"""Suites ``preemption-*``: the victims of one incoming workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.nodes import cohorts, queue, room, usage
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core import flavors, tree
from tidegate.core.draft import Draft
from tidegate.core.preemption import search
from tidegate.model.ids import FlavorResource

_MODES = {"Fit": flavors.FIT, "Preempt": flavors.PREEMPT}


def run(case: Case, mode: str) -> Iterator[str]:
    """Compare the set of victims, and that looking for them changed nothing."""
    incoming = {name: told for name, told in case.input["incoming"].items() if name != "status"}
    given = {**case.input, "workloads": [*case.input["workloads"], incoming]}
    draft = stage(replace(case, input=given), mode)
    workload = draft.workloads[key(incoming)]
    at = room(draft, case.input["targetClusterQueue"])
    for fr in _named(case.input["assignment"]):
        tree.cell_of(at.node, fr)  # some recorded queues list no quota for what they are asked
    before = _usage(draft)
    assignment = search.assignment_of(workload, _choices(case.input["assignment"]), draft=draft)
    found = [
        {
            "workload": one.workload.key,
            "reason": one.reason,
            "clusterQueue": one.cluster_queue,
        }
        for one in search.targets(draft, workload, assignment, room=at)
    ]
    found.sort(key=lambda one: one["workload"])
    yield from compare("targets", case.expected["targets"], found)
    yield from compare("usage after the search", before, _usage(draft))


def _choices(told: Json) -> list[tuple[str, int, dict[str, tuple[str, int]]]]:
    return [
        (
            podset["name"],
            podset["count"],
            {
                resource: (choice["flavor"], _MODES[choice["mode"]])
                for resource, choice in podset["flavors"].items()
            },
        )
        for podset in told["podSets"]
    ]


def _named(told: Json) -> list[FlavorResource]:
    return [
        FlavorResource(choice["flavor"], resource)
        for podset in told["podSets"]
        for resource, choice in podset["flavors"].items()
    ]


def _usage(draft: Draft) -> dict[str, dict[FlavorResource, int]]:
    nodes = [queue(draft, name) for name in draft.objects.cluster_queues]
    nodes += cohorts(draft).values()
    return {f"{node.is_cohort}/{node.name}": usage(node) for node in nodes}
