"""Suites ``preemption-*``: the victims of one incoming workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tests.conformance.cases import Case, Json
from tests.conformance.histories import key
from tests.conformance.nodes import cohorts, cq, queue, usage
from tests.conformance.report import compare
from tests.conformance.stage import stage
from tidegate.core.flavors.choices import Assignment, PodSetChoice, mode_name
from tidegate.core.flavors.fitting import FIT, PREEMPT, Choice
from tidegate.core.preemption import search
from tidegate.core.quota import tree
from tidegate.core.quota.charging import flavor_resource, requests_per_pod
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

_MODES = {"Fit": FIT, "Preempt": PREEMPT}


def run(case: Case, mode: str) -> Iterator[str]:
    """Compare the set of victims, and that looking for them changed nothing."""
    incoming = {name: value for name, value in case.input["incoming"].items() if name != "status"}
    given = {**case.input, "workloads": [*case.input["workloads"], incoming]}
    state = stage(replace(case, input=given), mode)
    workload = state.workloads[key(incoming)]
    at = cq(state, case.input["targetClusterQueue"])
    for fr in _named(case.input["assignment"]):
        tree.cell_of(at.node, fr)  # some recorded queues list no quota for what they are asked
    before = _usage(state)
    assignment = _assignment_of(workload, _choices(case.input["assignment"]), state=state)
    documents = [
        {
            "workload": target.workload.key,
            "reason": target.reason,
            "clusterQueue": target.cluster_queue,
        }
        for target in search.VictimSearch(state=state, cq=at, workload=workload).targets(assignment)
    ]
    documents.sort(key=lambda row: row["workload"])
    yield from compare("targets", case.expected["targets"], documents)
    yield from compare("usage after the search", before, _usage(state))


def _choices(document: Json) -> list[tuple[str, int, dict[str, tuple[str, int]]]]:
    return [
        (
            podset["name"],
            podset["count"],
            {
                resource: (choice["flavor"], _MODES[choice["mode"]])
                for resource, choice in podset["flavors"].items()
            },
        )
        for podset in document["podSets"]
    ]


def _named(document: Json) -> list[FlavorResource]:
    return [
        FlavorResource(choice["flavor"], resource)
        for podset in document["podSets"]
        for resource, choice in podset["flavors"].items()
    ]


def _usage(state: State) -> dict[str, dict[FlavorResource, int]]:
    nodes = [queue(state, name) for name in state.objects.cluster_queues]
    nodes += cohorts(state).values()
    return {f"{node.is_cohort}/{node.name}": usage(node) for node in nodes}


def _assignment_of(
    workload: Workload,
    choices: Iterable[tuple[str, int, dict[str, tuple[str, int]]]],
    *,
    state: State,
) -> Assignment:
    """Make an assignment by hand: podset, count, and by resource its flavor and mode."""
    assignment = Assignment(podsets=[])
    for index, (name, pods, assigned) in enumerate(choices):
        each = requests_per_pod(state, workload)[index]
        member_choice = PodSetChoice(
            name=name,
            count=pods,
            requests={resource: units * pods for resource, units in each.items()},
            choices={
                resource: Choice(flavor=flavor, mode=mode, borrow=0)
                for resource, (flavor, mode) in assigned.items()
            },
            fits=all(mode == FIT for _, mode in assigned.values()),
        )
        assignment.podsets.append(member_choice)
        for resource, choice in member_choice.choices.items():
            fr = flavor_resource(choice.flavor, resource)
            assignment.usage[fr] = assignment.usage.get(fr, 0) + member_choice.requests.get(
                resource, 0
            )
    assignment.mode = mode_name(min((podset.worst for podset in assignment.podsets), default=FIT))
    return assignment
