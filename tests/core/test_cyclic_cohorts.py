"""Cohorts that are their own ancestors: their ClusterQueues admit nothing until that is mended."""

from __future__ import annotations

from functools import partial

import pytest

from tests.core.revoking import PREEMPTS, Scene
from tidegate.contracts.observations import CohortObserved, Observation
from tidegate.model.quota import COHORTS_MAX, CohortSpec


def cohort(scene: Scene, name: str, parent: str) -> Observation:
    """Return a Cohort."""
    spec = CohortSpec(parent=parent)
    return CohortObserved(name=name, uid=name, version=scene.version(), session="a", spec=spec)


def test_its_queues_are_inactive_and_what_runs_runs_on() -> None:
    scene = Scene().open(cohort="low", preemption=PREEMPTS)
    stage = scene.stage
    stage.turn(cohort(scene, "low", "high"), cohort(scene, "high", ""))
    stage.turn(stage.submit("small", {"cpu": 3}))
    assert "WorkloadAdmitted small" in stage.decided
    stage.turn(cohort(scene, "high", "low"))
    assert "ClusterQueueReadinessChanged cq CohortCycle" in stage.decided
    stage.turn(stage.submit("big", {"cpu": 1, "priority": 9}))
    assert "cq is inactive" in scene.said()
    assert not [
        line for line in stage.decided if line.startswith(("StopOrdered", "WorkloadEvicted"))
    ]
    assert "WorkloadAdmitted big" not in stage.decided
    stage.turn(cohort(scene, "high", ""))
    assert stage.decided.count("ClusterQueueReadinessChanged cq Ready") == 2
    assert "WorkloadAdmitted big" in stage.decided


def test_queues_outside_the_cycle_go_on() -> None:
    scene = Scene().open(cohort="low")
    stage = scene.stage
    other = stage.cluster_queue("other", {"cpu": 4, "cohort": "apart"})
    stage.turn(other, stage.local_queue("second", {"cluster_queue": "other"}))
    stage.turn(cohort(scene, "low", "low"), cohort(scene, "apart", ""))
    stage.turn(stage.submit("big", {"cpu": 4, "queue": "second"}))
    assert "WorkloadAdmitted big" in stage.decided
    assert "ClusterQueueReadinessChanged cq CohortCycle" in stage.decided
    assert "ClusterQueueReadinessChanged other CohortCycle" not in stage.decided


@pytest.mark.parametrize(
    ("length", "active"), [(COHORTS_MAX, True), (COHORTS_MAX + 1, False), (1_500, False)]
)
def test_a_longer_chain_than_any_rule_walks_counts_as_a_cycle(length: int, active: bool) -> None:  # noqa: FBT001 - a case's
    scene = Scene().open(cohort="c0")
    stage = scene.stage
    names = [f"c{number}" for number in range(length)]
    stage.turn(*map(partial(cohort, scene), names, [*names[1:], ""]))
    stage.turn(stage.submit("big", {"cpu": 4}))
    assert ("WorkloadAdmitted big" in stage.decided) is active
    assert ("ClusterQueueReadinessChanged cq CohortCycle" in stage.decided) is not active


def test_a_chain_without_end_costs_the_others_nothing() -> None:
    scene = Scene().open()
    stage = scene.stage
    names = [f"c{number}" for number in range(3_000)]
    stage.turn(*map(partial(cohort, scene), names, [*names[1:], names[0]]))
    stage.turn(stage.submit("big", {"cpu": 4}))
    assert "WorkloadAdmitted big" in stage.decided
