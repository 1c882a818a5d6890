"""The worked examples of behaviour.md 19, which Kueue's own packages computed: worked.txt.

A: what is available; D: shares; P and F: victims, classic and fair; G: those of a cycle that
chooses a flavor; C: cycles one after the other; T: nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conformance import placed
from tests.conformance.cases import Case, Json
from tests.conformance.nodes import cohort, queue
from tests.conformance.notation import Example, case, examples
from tests.conformance.stage import stage
from tests.conformance.suites import victims
from tests.conformance.suites.cycles import Run
from tidegate.core.queueing import heads
from tidegate.core.quota import shares, tree
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource

EXAMPLES = list(examples(Path(__file__).parent / "worked.txt"))
MODE = "kueue"
_TARGET = re.compile(r"(\d+):(\w+)")


def those(letters: str) -> list[Example]:
    return [example for example in EXAMPLES if example.name[0] in letters]


def named(example: Example) -> str:
    return example.name


def test_every_example_is_read() -> None:
    assert [len(those(letter)) for letter in "ADPFGCT"] == [4, 4, 8, 7, 4, 6, 10]


@pytest.mark.parametrize("example", those("A"), ids=named)
def test_so_much_is_available_and_could_be(example: Example) -> None:
    state, (available, potential) = stage(case(example.text), MODE), example.follows.split("; ")
    for place, amount in re.findall(r"(\S+)=(\d+)", available):
        name, _, flavor = place.partition("/")
        units = tree.available(queue(state, name), FlavorResource(flavor, "cpu"))
        assert max(0, units) == 1_000 * int(amount), place
    for place, amount in re.findall(r"(\S+)=(\d+)", potential):
        name, _, flavor = place.partition("/")
        cell = tree.cell_of(queue(state, name), FlavorResource(flavor, "cpu"))
        assert cell.potential == 1_000 * int(amount), place


@pytest.mark.parametrize("example", those("D"), ids=named)
def test_a_share_is_so_large(example: Example) -> None:
    state = stage(case(example.text, fair=True), MODE)
    for place, text in re.findall(r"(\S+)=(\S+)", example.follows):
        kind, _, name = place.rpartition(":")
        node = cohort(state, name) if kind else queue(state, name)
        assert str(shares.dominant_share(node, {}).precise())[: len(text)] == text, place


@pytest.mark.parametrize("example", those("PF"), ids=named)
def test_these_are_the_victims_on_the_one_flavor(example: Example) -> None:
    fair, first_only = example.name[0] == "F", example.mode == "InitialShare"
    given_case = case(example.text, fair=fair, first_only=first_only)
    flavors = {"cpu": {"flavor": "f", "mode": "Preempt"}}
    podset = {"name": "main", "count": 1, "flavors": flavors}
    objects = given_case.input | {"assignment": {"podSets": [podset]}}
    expected = {"targets": targets(example, given_case)}
    assert list(victims.run(replace(given_case, input=objects, expected=expected), MODE)) == []


def targets(example: Example, given_case: Case) -> list[Json]:
    """Return the victims that an example names, as a recorded case has them."""
    queues = {
        workload["metadata"]["name"]: workload["status"]["admission"]["clusterQueue"]
        for workload in given_case.input["workloads"]
    }
    return [
        {"workload": f"n/{name}", "reason": reason, "clusterQueue": queues[name]}
        for name, reason in sorted(reasons(example).items())
    ]


def reasons(example: Example) -> dict[str, str]:
    return {f"w{int(number):02}": reason for number, reason in _TARGET.findall(example.follows)}


@pytest.mark.parametrize("example", those("G"), ids=named)
def test_these_are_the_victims_of_a_cycle_that_chooses_a_flavor(example: Example) -> None:
    given_case = case(example.text, fair="FairSharing" in example.follows)
    given_case.input["workloads"].append(given_case.input["incoming"])
    ran = Run(given_case, MODE)
    ran.schedule()
    preempted = {name.removeprefix("n/"): why for name, why in ran.projection.preempted.items()}
    assert preempted == reasons(example)


@pytest.mark.parametrize("example", those("C"), ids=named)
def test_this_is_how_the_queues_are_after_each_cycle(example: Example) -> None:
    given_case = case(example.text, fair=example.mode == "fair")
    ran, leaving = Run(given_case, MODE), evicted_before(given_case)
    for number, text in enumerate(example.follows.split(" | "), 1):
        ran.schedule()
        expected = re.fullmatch(r"c\d: adm (\S+) evicted (\S+) heap (\S+) inadm (\S+)", text)
        assert expected is not None, text
        evicted = leaving | own_names(ran.projection.evicted)
        queues = (own_names(ran.projection.admitted), evicted, *waiting(ran.state))
        lists = [set() if names == "-" else {*names.split(",")} for names in expected.groups()]
        assert list(queues) == lists, f"cycle {number}"


def evicted_before(given_case: Case) -> set[str]:
    return {
        workload["metadata"]["name"]
        for workload in given_case.input["workloads"]
        if len(workload.get("status", {}).get("conditions", ())) > 1
    }


def waiting(state: State) -> tuple[set[str], set[str]]:
    """Return the names of the workloads in the heaps, and of those that are inadmissible."""
    pairs = [heads.pending_keys(state, name) for name in state.objects.cluster_queues]
    heaped = own_names(name for active, _ in pairs for name in active)
    return heaped, own_names(name for _, parked in pairs for name in parked)


def own_names(keys: Iterable[str]) -> set[str]:
    return {key.removeprefix("n/") for key in keys}


@pytest.mark.parametrize("example", those("T"), ids=named)
def test_these_are_the_nodes_of_the_pods(example: Example) -> None:
    assert placed.outcomes(example.text) == placed.expected(example.follows)
