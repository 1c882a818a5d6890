"""What the judge takes for a return of an object that is gone, and what it does not."""

from __future__ import annotations

import pytest

from tests.simulation.judging.contracts.past import Past
from tests.simulation.judging.verdict import OBJECTIONS, BrokenRuleError
from tidegate.contracts.facts import WorkloadRemoved, WorkloadSubmitted
from tidegate.jobs import workload
from tidegate.model.ids import ObjectRef

KEY = "team/made"


@pytest.fixture(autouse=True)
def _no_objections() -> None:
    OBJECTIONS.clear()


def submitted(uid: str, version: int, kind: str, prebuilt: str = "") -> WorkloadSubmitted:
    job = ObjectRef(kind=kind, namespace="team", name="made", uid=uid)
    return WorkloadSubmitted(
        at_us=1, workload=KEY, uid=uid, job=job, version=version, queue="main", prebuilt=prebuilt
    )


def removed(uid: str, version: int) -> WorkloadRemoved:
    return WorkloadRemoved(at_us=1, workload=KEY, uid=uid, version=version)


def fold(*events: WorkloadSubmitted | WorkloadRemoved) -> None:
    past = Past()
    for seq, event in enumerate(events, 1):
        past.take_in(event, seq, 1)


def test_a_workload_that_stood_for_a_job_comes_back_as_it_was_once_the_job_is_gone() -> None:
    fold(
        submitted("w", 151, workload.NAME),
        removed("w", 152),
        submitted("j", 152, "batch/job", prebuilt="made"),
        removed("j", 169),
        submitted("w", 151, workload.NAME),
    )


@pytest.mark.parametrize("prebuilt", ["", "made"])
def test_a_job_whose_namesake_came_is_gone_for_good(prebuilt: str) -> None:
    with pytest.raises(BrokenRuleError, match="gone since 152"):
        fold(
            submitted("one", 151, "batch/job"),
            removed("one", 152),
            submitted("two", 152, "batch/job", prebuilt=prebuilt),
            submitted("one", 151, "batch/job"),
        )
    OBJECTIONS.clear()
