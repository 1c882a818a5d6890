"""Jobs beside what was decided about them: the codes of `tidegate drift`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegate.cli.commands.drift import lasting_differences
from tidegate.cli.doctor.comparing import Difference, compare_jobs, compare_unwatched
from tidegate.cli.doctor.examining import examine_unwatched
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.facts import WatchesExpected
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.jobs.batch.batch_job import KIND


@pytest.fixture
def state(sample: Path) -> State:
    """The state of the sample: huge waits, sweep, tune and report run."""
    with open_reader(str(sample), reports=False) as reader:
        return reader.state()


def job(
    state: State, name: str, *, suspended: bool, uid: str = "", conditions: tuple[Any, ...] = ()
) -> dict[str, Any]:
    workloads = [workload for workload in state.workloads.values() if workload.job.name == name]
    uid = uid or workloads[0].uid
    metadata: dict[str, Any] = {"name": name, "namespace": "a", "uid": uid, "resourceVersion": "1"}
    metadata["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    pods = {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}
    spec = {"suspend": suspended, "template": {"spec": pods}}
    head = {"apiVersion": "batch/v1", "kind": "Job"}
    return {**head, "metadata": metadata, "spec": spec, "status": {"conditions": list(conditions)}}


def codes(state: State, *documents: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (difference.code, difference.object) for difference in compare_jobs(state, KIND, documents)
    }


def test_an_ordered_start_of_a_suspended_job_is_drift(state: State) -> None:
    pairs = codes(state, job(state, "sweep", suspended=True))
    assert ("StillSuspended", "jobs.batch/a/sweep") in pairs


def test_what_waits_and_runs_is_drift(state: State) -> None:
    pairs = codes(state, job(state, "huge", suspended=False))
    assert ("RunsWithoutQuota", "jobs.batch/a/huge") in pairs


def test_what_runs_and_may_is_none(state: State) -> None:
    pairs = codes(state, job(state, "sweep", suspended=False), job(state, "huge", suspended=True))
    assert {path for _, path in pairs} == {"jobs.batch/a/tune", "jobs.batch/b/report"}


def test_a_job_that_asks_for_a_queue_and_is_not_known_is_drift(state: State) -> None:
    pairs = codes(state, job(state, "new", suspended=True, uid="other"))
    assert ("MissingInLedger", "jobs.batch/a/new") in pairs


def test_an_unknown_job_that_has_ended_is_none(state: State) -> None:
    ended = ({"type": "Complete", "status": "True"},)
    pairs = codes(state, job(state, "old", suspended=False, uid="other", conditions=ended))
    assert not {code for code, _ in pairs} & {"MissingInLedger", "RunsWithoutQuota"}


def test_a_job_that_cannot_be_read_says_where(state: State) -> None:
    raw = job(state, "sweep", suspended=True)
    raw["spec"]["suspend"] = "perhaps"
    (difference,) = [
        difference
        for difference in compare_jobs(state, KIND, [raw])
        if difference.code == "Unreadable"
    ]
    assert "suspend" in difference.kubernetes


def test_what_no_ingest_watches_is_named_by_drift_and_doctor(state: State) -> None:
    apply(state, WatchesExpected(at_us=state.now_us, resources=("pods",)))
    rows = {(difference.code, difference.object) for difference in compare_unwatched(state)}
    assert ("NotWatched", "jobs.batch/a/sweep") in rows
    assert "sweep" in next(examine_unwatched(state)).text


def test_a_difference_that_is_gone_at_the_second_look_is_none() -> None:
    late = Difference("StillSuspended", "jobs.batch/a/late", "admitted", "suspended")
    lasting = Difference("RunsWithoutQuota", "jobs.batch/a/lasting", "pending", "runs")
    new = Difference("StillSuspended", "jobs.batch/a/new", "admitted", "suspended")
    looks, pauses = [[late, lasting], [new, lasting]], list[float]()
    assert lasting_differences(lambda: looks.pop(0), 2, pauses.append) == [lasting]
    assert pauses == [2]


def test_without_differences_there_is_one_look() -> None:
    looks = [list[Difference]()]
    assert lasting_differences(lambda: looks.pop(0), 2) == []
