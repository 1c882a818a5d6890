"""Placed jobs: one workload at home, one copy in the cluster whose flavor has quota for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.placed_jobs import BODY, SUSPENDED, Placing
from tests.core.telling import PODSETS, RUNNING, gone, job, types
from tidegate.cli.commands.clusters.members import member_clusters
from tidegate.contracts import observations
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import (
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    WorkloadPending,
)
from tidegate.contracts.fact_kinds.clusters import EndShown
from tidegate.contracts.facts import WorkloadFinished
from tidegate.contracts.observations import JobState
from tidegate.model.podset import Container, PodSet


def test_reserving_a_flavor_of_another_cluster_orders_the_copy_there() -> None:
    world = Placing()
    workload = world.submit("east")
    decisions = world.hub.decide()
    assert types(decisions) == ["QuotaReserved", "WorkloadAdmitted", "CopyOrdered"]
    reserved, _, order = decisions
    assert isinstance(reserved, QuotaReserved)
    assert isinstance(order, CopyOrdered)
    assert (reserved.cluster, reserved.assignment[0].flavors) == ("west", {"cpu": "west"})
    assert (order.uid, order.job.cluster) == (workload.uid, "east")
    assert (order.copy.cluster, order.copy.uid, order.copy.name) == ("west", "", "train")
    assert order.body == BODY


def test_a_copy_that_was_seen_suspended_is_started_by_its_uid() -> None:
    world = Placing()
    workload = world.submit("east")
    world.hub.decide()
    assert types(world.copy("west", origin=workload.uid)) == ["CopyReported"]
    [order] = world.hub.decide()
    assert isinstance(order, StartOrdered)
    assert (order.job.cluster, order.job.uid) == ("west", "copy-train@west")
    assert (order.workload, order.uid) == (workload.key, workload.uid)
    world.copy("west", origin=workload.uid, state=RUNNING)
    assert world.hub.decide() == []
    assert not workload.state.suspended


def test_a_job_of_the_hub_is_placed_in_a_member() -> None:
    world = Placing()
    workload = world.submit("")
    assert world.orders() == [("CopyOrdered", "east")]
    assert workload.cluster == "east"


def test_the_end_of_the_copy_is_the_job_s_and_the_copy_goes_once_home_shows_it() -> None:
    world = Placing()
    workload = world.started()
    events = world.copy("west", origin=workload.uid, finished="Succeeded", status='{"succeeded":1}')
    assert types(events) == ["CopyReported", "WorkloadFinished"]
    assert (workload.phase, world.orders()) == ("finished", [])
    assert types(world.home("east", version=11, finished="Succeeded")) == ["EndShown"]
    assert world.orders() == [("CopyRemovalOrdered", "west")]
    assert types(world.copy_gone("west")) == ["CopyRemoved"]
    assert (world.hub.bus.state.copies, world.orders()) == ({}, [])


def test_an_end_that_only_home_shows_counts_once_the_copy_is_gone() -> None:
    """So after the loss of the ledger's newest events: nothing keeps the body of an ended job."""
    world = Placing()
    workload = world.started()
    assert types(world.home("east", version=11, finished="Failed", message="why")) == ["EndShown"]
    _, finished = world.copy_gone("west")
    assert isinstance(finished, WorkloadFinished)
    assert (finished.reason, finished.message) == ("Failed", "why")
    assert (workload.phase, world.orders()) == ("finished", [])


def test_a_job_that_does_not_show_its_end_yet_stays_finished() -> None:
    world = Placing()
    workload = world.started()
    world.copy("west", origin=workload.uid, finished="Succeeded", status='{"succeeded":1}')
    assert types(world.home("east", version=11)) == []
    assert (workload.phase, world.orders()) == ("finished", [])


def test_an_end_that_the_job_shows_no_longer_is_to_be_shown_again() -> None:
    """So where its cluster was restored from a backup; once the copy is gone, it runs again."""
    world = Placing()
    workload = world.started()
    world.copy("west", origin=workload.uid, finished="Succeeded")
    world.home("east", version=11, finished="Succeeded")
    [shown_no_longer] = world.home("east", version=12)
    assert isinstance(shown_no_longer, EndShown)
    assert (shown_no_longer.reason, world.orders()) == ("", [])
    world.home("east", version=13, finished="Succeeded")
    assert world.orders() == [("CopyRemovalOrdered", "west")]
    world.copy_gone("west")
    assert types(world.home("east", version=14)) == ["WorkloadRemoved", "WorkloadSubmitted"]


def test_a_copy_s_end_is_published_again_for_the_next_workload_of_its_job() -> None:
    world = Placing()
    workload = world.started()
    ended = {"origin": workload.uid, "finished": "Succeeded", "status": '{"succeeded":1}'}
    world.copy("west", **ended)
    world.home("east", version=11, queue="")
    world.home("east", version=12)
    assert types(world.copy("west", **ended)) == ["CopyReported", "WorkloadFinished"]


def test_an_end_counts_no_more_when_home_shows_it_no_longer() -> None:
    world = Placing()
    world.started()
    world.home("east", version=11, finished="Failed")
    assert types(world.home("east", version=12)) == ["EndShown"]
    assert types(world.copy_gone("west")) == ["CopyRemoved"]


def test_quota_is_given_back_only_when_the_copy_is_gone() -> None:
    world = Placing()
    workload = world.started()
    world.home("east", version=11, podsets=(replace(PODSETS[0], count=2),))
    decisions = world.hub.decide()
    assert types(decisions) == ["WorkloadEvicted", "CopyRemovalOrdered"]
    order = decisions[1]
    assert isinstance(order, CopyRemovalOrdered)
    assert (order.copy.uid, order.reason) == ("copy-train@west", "Evicted")
    world.copy("west", origin=workload.uid, state=replace(RUNNING, deleting=True))
    assert (world.hub.decide(), workload.phase) == ([], "evicting")
    world.copy_gone("west")
    assert types(world.hub.decide())[0] == "QuotaReleased"


def test_a_job_deleted_at_home_keeps_its_quota_until_its_copy_is_gone() -> None:
    world = Placing()
    workload = world.started()
    assert types(world.hub.members["east"].tell(gone("train", 30))) == ["HomeGone"]
    assert types(world.hub.decide()) == ["WorkloadEvicted", "CopyRemovalOrdered"]
    assert workload.key in world.hub.bus.state.workloads
    assert types(world.copy_gone("west")) == ["CopyRemoved", "WorkloadRemoved"]
    assert world.hub.bus.state.workloads == {}


def test_a_list_without_the_copy_says_that_it_is_gone() -> None:
    world = Placing()
    workload = world.started()
    west = world.hub.members["west"]
    events = west.tell(
        observations.SyncStarted(resource="jobs.batch", session="a", round=9),
        observations.SyncCompleted(
            resource="jobs.batch", session="a", round=9, list_version=90, present=()
        ),
    )
    assert "CopyRemoved" in types(events)
    assert (workload.state, workload.phase) == (JobState(), "admitted")


def test_a_creation_that_comes_late_starts_nothing() -> None:
    """Its quota went elsewhere meanwhile: what an actuator makes then is suspended, and goes."""
    world = Placing()
    workload = world.submit("east")
    world.hub.decide()
    world.hub.members["east"].tell(gone("train", 30))
    assert workload.key not in world.hub.bus.state.workloads
    world.copy("west", origin=workload.uid)
    assert world.orders() == [("CopyRemovalOrdered", "west")]


def test_no_copy_starts_while_another_may_run_elsewhere() -> None:
    world = Placing()
    world.hub.bus.tell(job("other", uid="o"))  # nothing of this world's
    workload = world.started(home="", to="east")
    world.copy("west", origin=workload.uid, state=RUNNING)
    assert world.orders() == [("CopyRemovalOrdered", "west")]
    assert workload.phase == "admitted"


@pytest.mark.parametrize("label", ["false", "yes", ""])
def test_a_namespace_without_the_label_takes_none(label: str) -> None:
    world = Placing()
    world.accept("west", label)
    workload = world.submit("east")
    [held] = world.hub.decide()
    assert isinstance(held, WorkloadPending)
    assert held.reason == "NoClusterAccepts"
    assert "cluster west takes no placed jobs in namespace team" in held.message
    world.accept("west")
    assert world.orders() == [("CopyOrdered", "west")]
    assert workload.cluster == "west"


def test_a_silent_cluster_gets_none_and_keeps_what_runs_there() -> None:
    world = Placing()
    running = world.started()
    world.hub.pass_time(40, "east")
    waiting = world.submit("east", "more")
    world.hub.decide()
    assert (running.phase, waiting.phase) == ("admitted", "pending")
    assert waiting.pending_status is not None
    assert waiting.pending_status.reason == "NoClusterAccepts"


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ({"body": ""}, "made without spec.managedBy"),
        ({"body": "", "kind": "pod"}, "a pod cannot run as a copy"),
    ],
)
def test_what_cannot_be_placed_waits_and_says_why(obj: dict[str, str], words: str) -> None:
    world = Placing()
    world.submit("east", **obj)
    [held] = [decision for decision in world.hub.decide() if isinstance(decision, WorkloadPending)]
    assert (held.reason, words in held.message) == ("Misconfigured", True)


def test_a_placed_job_in_a_queue_that_places_none_waits() -> None:
    world = Placing()
    world.place("stay")
    world.submit("east")
    [held] = [decision for decision in world.hub.decide() if isinstance(decision, WorkloadPending)]
    assert held.reason == "Misconfigured"
    world.place("any")
    assert world.orders() == [("CopyOrdered", "west")]


def test_all_podsets_are_in_one_cluster() -> None:
    """One of four CPUs is free in each cluster: one podset fits in each, and both in none."""
    world = Placing()
    most, podset = (PodSet(containers=(Container(requests={"cpu": n}),)) for n in ("3", "1"))
    homes = [world.submit("", name, podsets=(most,)) for name in ("a", "b")]
    world.hub.decide()
    assert [each.cluster for each in homes] == ["east", "west"]
    world.submit("", podsets=(replace(podset, name="x"), replace(podset, name="y")))
    [held] = [decision for decision in world.hub.decide() if isinstance(decision, WorkloadPending)]
    assert held.reason == "WaitingForQuota"


def test_a_name_that_is_taken_lets_another_cluster_be_chosen() -> None:
    world = Placing()
    workload = world.submit("")
    [*_, order] = world.hub.decide()
    assert isinstance(order, CopyOrdered)
    state = world.hub.bus.state
    report = observations.ActuationReported(
        job=replace(order.copy, cluster=""),
        workload="team/job-uid-train",
        decision=f"{state.ledger_id}/{state.seq}",
        reason="NameTaken",
        origin=order.uid,
    )
    world.hub.members["east"].tell(report)
    decisions = world.hub.decide()
    assert isinstance(decisions[1], QuotaReleased)
    assert (workload.cluster, workload.refused) == ("west", ("east",))


def test_it_is_listed_where_its_copy_runs() -> None:
    world = Placing()
    running = world.started()
    east, west = member_clusters(world.hub.bus.state)
    assert (east.running, west.running) == ((), (running.key,))


def test_what_stands_at_home_changes_nothing() -> None:
    world = Placing()
    workload = world.started()
    assert world.home("east", version=12, state=JobState(suspended=False)) == []
    assert world.home("east", version=13, state=replace(SUSPENDED, started=True, active=3)) == []
    assert world.hub.decide() == []
    assert not workload.state.suspended
