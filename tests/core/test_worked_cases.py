"""The tutorial on preemption is played: every block of it is a case, its numbers are checked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import convert

from tests.conformance.nodes import queue as node
from tests.conformance.nodes import usage
from tests.core.queues import defined, of_cpu
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StopOrdered, WorkloadPreempted
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource, ObjectRef
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quantity import amount
from tidegate.model.quota import (
    FlavorSpec,
    Preemption,
    Quota,
)

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "preemption.md"
BLOCK = re.compile(r"^### (\d+\. [^\n]*)\n.*?^```case\n(.*?)^```", re.MULTILINE | re.DOTALL)
CASES = dict(BLOCK.findall(TUTORIAL.read_text()))
CPU = FlavorResource("default", "cpu")
POLICIES = {
    "withinClusterQueue": "within_cluster_queue",
    "reclaimWithinCohort": "reclaim_within_cohort",
    "borrowWithinCohort": "borrow_within_cohort",
}


class Story:
    """A case as it is written, line by line."""

    def __init__(self, mode: str) -> None:
        self.state = State()
        self.news: list[DecisionEvent] = []  # since the last line that did something
        policy = Policy(compatibility="kueue" if mode == "kueue" else "tidegate")
        for event in (
            facts.LedgerOpened(at_us=0, ledger_id="tutorial"),
            facts.WatchesExpected(at_us=0, resources=()),
            facts.PolicyConfigured(at_us=0, name="policy", policy=policy),
            facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()),
            facts.NamespaceDefined(at_us=0, name="shop"),
        ):
            apply(self.state, event)

    def tell(self, line: str) -> None:
        """Play one line, or check one that begins with ``expect``."""
        match shlex.split(line):
            case ["queue", name, nominal, *policies]:
                self.define(name, nominal, policies)
            case ["submit", name, cpu, queue, *low]:
                self.submit(name, cpu, queue, priority=-1 if low else 0)
            case ["finish", name]:
                self.happen(facts.WorkloadFinished(at_us=self.now(), workload=key(name), uid=name))
            case ["expect", *expected]:
                self.check(expected)
            case other:
                pytest.fail(f"the tutorial says what the test does not know: {other}")

    def define(self, name: str, nominal: str, policies: list[str]) -> None:
        quota = Quota(nominal=amount("cpu", nominal))
        given = {POLICIES[key]: value for key, value in (text.split("=") for text in policies)}
        spec = of_cpu({"default": quota}, cohort="shop", preemption=convert(given, Preemption))
        for event in defined(name, spec, local=name, namespace="shop"):
            apply(self.state, event)

    def submit(self, name: str, cpu: str, queue: str, priority: int) -> None:
        fact = facts.WorkloadSubmitted(
            at_us=self.now(),
            workload=key(name),
            uid=name,
            job=ObjectRef(kind="batch/job", namespace="shop", name=name, uid=name),
            queue=queue,
            priority=priority,
            created_us=self.now(),
            podsets=(PodSet(containers=(Container(requests={"cpu": cpu}),)),),
        )
        self.happen(fact)

    def happen(self, fact: facts.FactEvent) -> None:
        """Fold a fact, then decide; a workload that is ordered to stop does so at once."""
        apply(self.state, fact)
        self.news = []
        while decisions := decide(self.state):
            self.news += decisions
            for stop in [decision for decision in decisions if isinstance(decision, StopOrdered)]:
                proof = facts.WorkloadStopped(at_us=self.state.now_us, workload=stop.workload)
                apply(self.state, proof)

    def now(self) -> int:
        return self.state.now_us + 1_000_000

    def check(self, expected: list[str]) -> None:
        preempted = [decision for decision in self.news if isinstance(decision, WorkloadPreempted)]
        rows = [(decision.by, decision.workload, str(decision.reason)) for decision in preempted]
        match expected:
            case ["no", "preemption"]:
                assert rows == []
            case [by, "preempts", victim, reason]:
                assert rows == [(key(by), key(victim), reason)]
            case ["runs", *names]:
                assert self.in_phase("admitted") == names
            case ["waits", *names]:
                assert self.in_phase("pending") == names
            case ["uses", queue, cpu]:
                used = usage(node(self.state, queue))
                assert used[CPU] == amount("cpu", cpu)
            case other:
                pytest.fail(f"the tutorial expects what the test does not know: {other}")

    def in_phase(self, phase: str) -> list[str]:
        workloads = self.state.workloads.values()
        return sorted(workload.job.name for workload in workloads if workload.phase == phase)


def key(name: str) -> str:
    return f"shop/{name}"


def lines(block: str) -> Iterator[str]:
    return (line for line in block.splitlines() if line.strip())


def test_the_tutorial_has_eleven_cases_and_each_expects_something() -> None:
    assert len(CASES) == 11
    assert all(block.count("expect ") >= 3 for block in CASES.values())


@pytest.mark.parametrize("mode", ["tidegate", "kueue"])
@pytest.mark.parametrize("block", CASES.values(), ids=CASES.keys())
def test_what_the_tutorial_says_is_what_happens(block: str, mode: str) -> None:
    story = Story(mode)
    for line in lines(block):
        story.tell(line)
