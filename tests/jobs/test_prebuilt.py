"""A job and the Workload that its owner made: what of which counts, and when they do not match."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tidegate.contracts.observations import JobObserved, JobState
from tidegate.jobs.prebuilt import (
    awaiting_observation,
    awaiting_workload,
    merged_with_workload,
    mismatches,
)
from tidegate.model.podset import Container, PodSet, Toleration

MAIN = PodSet(containers=(Container(requests={"cpu": "1"}),))
JOB = JobObserved(
    namespace="team",
    name="train",
    uid="j",
    version=9,
    session="",
    kind="batch/job",
    workload="team/job-train-12345",
    queue="main",
    created_us=9,
    podsets=(MAIN,),
    gates=("own",),
    prebuilt="made",
)
MADE = replace(
    JOB,
    name="made",
    uid="w",
    kind="workload",
    workload="team/made",
    priority_class="low",
    priority=3,
    created_us=5,
    gates=("theirs",),
    prebuilt="",
)
RUNNING = JobState(suspended=False, started=True, active=1)
BEARABLE = Toleration(key="a")


def other(**podset: Any) -> JobObserved:  # noqa: ANN401 - a podset's fields
    return replace(MADE, podsets=(replace(MAIN, **podset),))


def test_the_workload_says_what_is_asked_for_and_the_job_how_it_stands() -> None:
    observation = merged_with_workload(replace(JOB, state=RUNNING, reclaimable={"main": 1}), MADE)
    assert (observation.uid, observation.workload, observation.queue) == ("j", "team/made", "main")
    assert (observation.priority_class, observation.priority, observation.created_us) == (
        "low",
        3,
        5,
    )
    assert (observation.state, observation.reclaimable) == (RUNNING, {"main": 1})
    assert observation.gates == ("own", "theirs")
    assert not observation.finished


def test_the_class_that_a_job_names_counts_alone() -> None:
    observation = merged_with_workload(replace(JOB, priority_class="high"), MADE)
    assert (observation.priority_class, observation.priority) == ("high", None)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (other(count=2), "podset main, 2 pods, the job 1"),
        (other(min_count=1), "podset main, the fewest pods"),
        (other(name="rest"), "podset rest, the job main"),
        (other(containers=(Container(requests={"cpu": "2"}),)), "podset main, what its containers"),
        (other(init_containers=(Container(),)), "podset main, what its containers ask for"),
        (other(tolerations=(BEARABLE,)), "podset main, tolerations"),
        (
            other(pod_resources=Container(requests={"cpu": "3"})),
            "podset main, what its pods ask for",
        ),
        (replace(MADE, podsets=()), "0 podsets, the job 1"),
        (replace(MADE, max_execution_s=7), "maximum execution time 7 s, the job 0 s"),
    ],
)
def test_a_suspended_job_that_asks_for_something_else_is_over(made: JobObserved, text: str) -> None:
    observation = merged_with_workload(JOB, made)
    assert observation.finished == "OutOfSync"
    assert text in observation.message


PAIR = (PodSet(name="a", count=2), PodSet(name="b"))
GROUP, SENT = replace(JOB, kind="pod-group", podsets=PAIR), replace(MADE, podsets=PAIR)
INCOMPLETE = "tidegate.dev/pod-group-incomplete"
LESS = replace(GROUP, podsets=(PodSet(name="a"),))


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (replace(GROUP, podsets=(*PAIR, PodSet(name="c"))), "no podset c, the job has it"),
        (LESS, "podset a, 2 pods, the job 1"),
        (replace(GROUP, podsets=PAIR[:1]), "podset b, 1 pods, the job 0"),
        (replace(LESS, gates=(INCOMPLETE,)), ""),
        (replace(LESS, gates=(INCOMPLETE,), podsets=(PodSet(name="a", count=3),)), "the job 3"),
        (replace(GROUP, podsets=(PAIR[0], replace(MAIN, name="b"))), "podset b, what its pods"),
        (
            replace(
                GROUP, podsets=tuple(replace(podset, tolerations=(BEARABLE,)) for podset in PAIR)
            ),
            "",
        ),
    ],
)
def test_a_group_may_lack_pods_that_ended_and_none_of_it_differs(
    group: JobObserved, text: str
) -> None:
    observation = merged_with_workload(group, SENT)
    assert observation.finished == ("OutOfSync" if text else "")
    assert text in observation.message


@pytest.mark.parametrize("made", [other(count=0), other(containers=())])
def test_a_running_job_that_asks_for_something_else_is_stopped_first(made: JobObserved) -> None:
    observation = merged_with_workload(replace(JOB, state=RUNNING), made)
    assert (observation.finished, observation.active) == ("", False)


@pytest.mark.parametrize(
    "made",
    [other(tolerations=(BEARABLE,)), other(count=3, min_count=1), other(count=2)],
    ids=["tolerations", "partial admission", "of two pods one has ended before"],
)
def test_what_a_start_puts_in_is_no_difference(made: JobObserved) -> None:
    observation = merged_with_workload(replace(JOB, state=RUNNING), made)
    assert (observation.finished, observation.active) == ("", True)


def test_a_workload_that_is_over_ends_its_job_unless_that_runs() -> None:
    made = replace(MADE, finished="Succeeded")
    assert merged_with_workload(JOB, made).finished == "Succeeded"
    assert not merged_with_workload(replace(JOB, state=RUNNING), made).finished
    assert merged_with_workload(replace(JOB, finished="Failed"), made).finished == "Failed"


def test_a_job_without_its_workload_waits_as_itself() -> None:
    assert (awaiting_workload(JOB).workload, awaiting_workload(JOB).podsets) == (
        JOB.workload,
        JOB.podsets,
    )
    assert awaiting_workload(JOB).gates == ("own", "Workload/made")
    assert (awaiting_observation(JOB).workload, awaiting_observation(JOB).podsets) == (
        "team/made",
        (),
    )


def test_of_other_podsets_nothing_more_is_compared() -> None:
    names = mismatches(JOB, replace(MADE, max_execution_s=7, podsets=(MAIN, MAIN)), settled=True)
    assert list(names) == ["maximum execution time 7 s, the job 0 s", "2 podsets, the job 1"]
