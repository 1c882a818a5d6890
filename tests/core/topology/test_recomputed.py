"""Nodes that an entry loses to an earlier one in its cycle, with ``compatibility: kueue``."""

from __future__ import annotations

import pytest

from tests.core.queues import defined, of_cpu
from tests.core.topology.cluster import Cluster
from tidegate.contracts import facts
from tidegate.contracts.decisions import WorkloadPending
from tidegate.core.decide import VERSION
from tidegate.model.policy import Policy
from tidegate.model.quota import Quota
from tidegate.model.topology import HOSTNAME, NodeSpec

GATE = "TASRecomputeAssignmentWithinSchedulingCycle"


def node(name: str, cpu: int) -> facts.NodeDefined:
    labels = {"rack": name, HOSTNAME: name}
    spec = NodeSpec(labels=labels, allocatable={"cpu": cpu, "pods": 10}, ready=True)
    return facts.NodeDefined(at_us=0, name=name, spec=spec)


def cluster(gates: dict[str, bool]) -> Cluster:
    """Return a node of three CPUs and one of one, and three queues over both."""
    made = Cluster(0)
    policy = Policy(compatibility="kueue", rules=VERSION, gates=gates)
    made.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
    for name in ("second", "third"):
        spec = of_cpu({"hosts": Quota(nominal=100_000)})
        made.fold(*defined(name, spec, local=name, namespace="n"))
    made.fold(node("big", 3_000))
    made.job("low", 3, HOSTNAME)
    made.decide()
    made.fold(node("small", 1_000))
    return made


def submit(made: Cluster, name: str, queue: str, pods: int, priority: int) -> None:
    """Submit a job like ``Cluster.job``, to another queue."""
    made.job(name, pods, HOSTNAME, priority)
    known = made.state.workloads[f"n/{name}"]
    made.fold(
        facts.WorkloadChanged(
            at_us=0,
            workload=known.key,
            uid=known.uid,
            queue=queue,
            priority=priority,
            podsets=known.podsets,
        )
    )


def test_a_victims_node_is_not_free_before_it_has_stopped() -> None:
    made = cluster({})
    submit(made, "preemptor", "q", 2, 9)
    submit(made, "quick", "second", 1, 5)
    submit(made, "late", "third", 1, 1)
    made.decide()
    phases = {name: made.state.workloads[f"n/{name}"].phase for name in ("quick", "late")}
    assert phases == {"quick": "admitted", "late": "pending"}
    assert made.where("quick") == {"small": 1}
    made.fold(facts.WorkloadStopped(at_us=0, workload="n/low", uid="low"))
    made.decide()
    assert made.where("preemptor") == {"big": 2}
    assert made.where("late") == {"big": 1}


@pytest.mark.parametrize("recomputes", [True, False])
def test_another_node_is_sought_in_the_same_cycle_while_the_gate_is_open(
    *, recomputes: bool
) -> None:
    made = cluster({} if recomputes else {GATE: False})
    made.fold(node("other", 1_000))
    submit(made, "quick", "second", 1, 5)
    submit(made, "late", "third", 1, 1)
    waited = [event for event in made.decide() if isinstance(event, WorkloadPending)]
    assert [event.workload for event in waited] == ([] if recomputes else ["n/late"])
    assert {*made.where("quick"), *made.where("late")} == {"other", "small"}
