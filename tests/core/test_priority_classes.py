"""PriorityClasses of pods: their values, those that never preempt, and those that are deleted."""

from __future__ import annotations

import pytest

from tests.core.revoking import PREEMPTS, Scene
from tidegate.contracts import observations

CALM, CALMER = {"pod_priority_class": "calm"}, {"pod_priority_class": "calmer"}
CLASSES = "priorityclasses.scheduling.k8s.io"


def priority_class(
    scene: Scene, name: str, value: int, *, never: bool = False, default: bool = False
) -> observations.Observation:
    return observations.PriorityClassObserved(
        name=name,
        uid=name,
        version=scene.version(),
        session="a",
        value=value,
        never_preempts=never,
        is_default=default,
    )


def calm(scene: Scene, value: int, name: str = "calm") -> observations.Observation:
    """Return a class whose workloads preempt no other."""
    return priority_class(scene, name, value, never=True)


def deleted(scene: Scene, name: str) -> observations.Observation:
    return observations.ObjectGone(
        name=name, uid=name, version=scene.version(), session="a", resource=CLASSES
    )


@pytest.fixture(params=["in its ClusterQueue", "in its cohort"])
def full(request: pytest.FixtureRequest) -> Scene:
    """Return a scene whose quota is in use by a job of its own queue, or by a borrower."""
    rules = {**PREEMPTS, "reclaim_within_cohort": "Any"}
    scene = Scene().open(cohort="all", preemption=rules)
    stage = scene.stage
    if request.param == "in its ClusterQueue":
        stage.turn(stage.submit("small", {"cpu": 4, "priority": -1}))
    else:
        other = stage.cluster_queue("other", {"cpu": 0, "cohort": "all"})
        stage.turn(other, stage.local_queue("second", {"cluster_queue": "other"}))
        stage.turn(stage.submit("small", {"cpu": 4, "queue": "second"}))
    assert "WorkloadAdmitted small" in stage.decided
    return scene


def test_a_class_that_never_preempts_waits_before_lower_ones(full: Scene) -> None:
    stage = full.stage
    stage.turn(calm(full, 9), calm(full, 8, "calmer"))
    stage.turn(stage.submit("late", {"cpu": 3, **CALMER}), stage.submit("big", {"cpu": 4, **CALM}))
    assert not [line for line in stage.decided if line.startswith("WorkloadEvicted")]
    stage.turn(stage.delete("small"))
    assert "WorkloadAdmitted big" in stage.decided
    assert "WorkloadAdmitted late" not in stage.decided


def test_any_other_class_of_that_value_preempts(full: Scene) -> None:
    stage = full.stage
    stage.turn(priority_class(full, "calm", 9))
    stage.turn(stage.submit("big", {"cpu": 4, **CALM}))
    assert "WorkloadEvicted small Preempted" in stage.decided
    assert "WorkloadAdmitted big" in stage.decided


def test_a_deleted_class_leaves_the_priority_that_it_gave(full: Scene) -> None:
    stage = full.stage
    stage.turn(calm(full, 9), calm(full, 8, "calmer"))
    stage.turn(stage.submit("late", {"cpu": 3, **CALMER}), stage.submit("big", {"cpu": 4, **CALM}))
    stage.turn(deleted(full, "calm"))
    assert not [line for line in stage.decided if line.startswith("WorkloadEvicted")]
    stage.turn(stage.delete("small"))
    assert "WorkloadAdmitted big" in stage.decided
    assert "WorkloadAdmitted late" not in stage.decided


@pytest.mark.parametrize("others", [{}, {"high": 7, "low": 5}], ids=["alone", "beside another"])
def test_pods_without_a_class_have_the_lowest_default(others: dict[str, int]) -> None:
    scene = Scene().open(preemption=PREEMPTS)
    stage = scene.stage
    stage.turn(
        *(priority_class(scene, name, value, default=True) for name, value in others.items())
    )
    stage.turn(stage.submit("small", {"cpu": 4}))
    assert stage.bus.state.workloads["team/small"].priority == min(others.values(), default=0)
