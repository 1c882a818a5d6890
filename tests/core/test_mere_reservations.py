"""A reservation is given back at once only while no pod of its job may use it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.observations import JobState
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    CheckRule,
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
    StopPolicy,
)

JOB = ObjectRef(kind="batch/job", namespace="ns", name="job", uid="u")
RUNNING = JobState(suspended=False, active=2, started=True)


def queue(name: str) -> facts.ClusterQueueDefined:
    quotas = FlavorQuotas(flavor="f", quotas={"cpu": Quota(nominal=10_000)})
    spec = ClusterQueueSpec(
        groups=(ResourceGroup(resources=("cpu",), flavors=(quotas,)),),
        namespace_selector=LabelSelector(),
        checks=(CheckRule(name="nodes"),),
    )
    return facts.ClusterQueueDefined(at_us=0, name=name, spec=spec)


def local(cluster_queue: str, stop: StopPolicy = "None") -> facts.LocalQueueDefined:
    spec = LocalQueueSpec(cluster_queue=cluster_queue, stop_policy=stop)
    return facts.LocalQueueDefined(at_us=0, name="main", namespace="ns", spec=spec)


def podsets(count: int) -> tuple[PodSet, ...]:
    return (PodSet(name="main", count=count, containers=(Container(requests={"cpu": "1"}),)),)


def told(state: State, *events: Any) -> list[str]:  # noqa: ANN401 - facts of any type
    for event in events:
        apply(state, event)
    return [type_name(event) for event in decide(state)]


def submitted(key: str, uid: str, count: int, replaces: str = "") -> facts.WorkloadSubmitted:
    return facts.WorkloadSubmitted(
        at_us=1,
        workload=key,
        uid=uid,
        job=JOB,
        queue="main",
        created_us=1,
        podsets=podsets(count),
        elastic=True,
        replaces=replaces,
    )


def gated(key: str, uid: str, count: int) -> facts.WorkloadChanged:
    return facts.WorkloadChanged(
        at_us=2, workload=key, uid=uid, queue="main", podsets=podsets(count), gates=("g",)
    )


@pytest.fixture
def state() -> State:
    """Return a ledger in which an elastic job has quota and waits for its check."""
    state = State()
    for fact in (
        facts.LedgerOpened(at_us=0, ledger_id="ledger"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.PolicyConfigured(at_us=0, name="policy", policy=Policy(rules=VERSION)),
        facts.FlavorDefined(at_us=0, name="f", spec=FlavorSpec()),
        facts.NamespaceDefined(at_us=0, name="ns"),
        facts.CheckDefined(at_us=0, name="nodes", controller="c", active=True),
        queue("one"),
        queue("other"),
        local("one"),
    ):
        apply(state, fact)
    assert "QuotaReserved" in told(state, submitted("ns/job", "u", 2))
    return state


def grown(state: State) -> None:
    """Let the job run, and a larger slice of it take over, which waits for its check."""
    about: dict[str, Any] = {"at_us": 1, "workload": "ns/job", "uid": "u"}
    ready = facts.CheckReported(**about, check="nodes", state="Ready")
    assert told(state, ready) == ["WorkloadAdmitted", "StartOrdered"]
    told(state, facts.JobStateReported(**about, version=2, state=RUNNING))
    names = told(state, submitted("ns/job-2", "u/2", 3, "ns/job"))
    assert names == ["QuotaReleased", "QuotaReserved"]
    assert state.workloads["ns/job-2"].state.active == RUNNING.active


def test_one_that_may_start_no_more_is_given_back_at_once(state: State) -> None:
    assert told(state, gated("ns/job", "u", 2))[:2] == ["QuotaReleased", "WorkloadRequeued"]
    assert state.workloads["ns/job"].charges == ()


def test_that_of_a_slice_whose_job_runs_is_kept(state: State) -> None:
    grown(state)
    assert told(state, gated("ns/job-2", "u/2", 3)) == []
    assert told(state, local("one", "Hold")) == []
    assert state.workloads["ns/job-2"].charges == ((("f", "cpu"), 3_000),)
    ready = facts.CheckReported(
        at_us=3, workload="ns/job-2", uid="u/2", check="nodes", state="Ready"
    )
    assert told(state, ready) == []  # it is not admitted, either


def test_one_whose_local_queue_leads_elsewhere_is_made_there(state: State) -> None:
    names = told(state, local("other"))
    assert names[:2] == ["QuotaReleased", "WorkloadRequeued"]
    workload = state.workloads["ns/job"]
    assert (workload.cluster_queue, workload.phase) == ("other", "reserved")
