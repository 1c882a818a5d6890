"""A new ledger over placed jobs whose copies exist: what runs is charged where it runs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.member_clusters import Hub
from tests.core.placed_jobs import BODY, SUSPENDED
from tests.core.telling import RUNNING, job, types
from tidegate.contracts import observations
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.model.quota import LocalQueueSpec

KEY = "team/job-uid-train@east"
HOME = job("train", body=BODY)


def copied(**obj: object) -> observations.JobObserved:
    """Return the copy in the other cluster."""
    seen = replace(job("train", uid="copy"), copy=CopySeen(origin="uid-train@east", status=""))
    return replace(seen, **obj)


def opened(**listed_in: observations.JobObserved) -> Hub:
    """Return a new ledger: its LocalQueue places jobs, and these clusters list a job each."""
    hub = Hub()
    spec = LocalQueueSpec(cluster_queue="cq", placement="any")
    hub.bus.tell(
        observations.LocalQueueObserved(
            namespace="team", name="main", uid="lq", version=10, session="a", spec=spec
        )
    )
    return hub.open(listed_in={name: (listed,) for name, listed in listed_in.items()})


def test_a_running_copy_is_adopted_and_charged_to_the_flavor_of_its_cluster() -> None:
    workload = opened(east=HOME, west=copied(state=RUNNING)).bus.state.workloads[KEY]
    assert (workload.phase, workload.cluster) == ("admitted", "west")
    assert workload.assignment[0].flavors == {"cpu": "west"}


@pytest.mark.parametrize(
    "copy",
    [
        copied(state=SUSPENDED),
        copied(state=replace(RUNNING, deleting=True)),
        copied(state=RUNNING, finished="Succeeded"),
    ],
    ids=["suspended", "deleting", "finished"],
)
def test_a_copy_that_does_not_run_is_not(copy: observations.JobObserved) -> None:
    workload = opened(east=HOME, west=copy).bus.state.workloads[KEY]
    assert (workload.phase == "admitted", workload.cluster) == (False, "")


def test_both_clusters_have_to_be_listed_first() -> None:
    hub = opened(east=HOME)
    assert "WorkloadAdopted" not in types(hub.members["west"].tell(copied(state=RUNNING)))
    assert {"QuotaReserved", "CopyOrdered"}.isdisjoint(types(hub.decide()))
    assert "WorkloadAdopted" in types(hub.join("west", copied(state=RUNNING)))
    assert hub.bus.state.workloads[KEY].cluster == "west"
