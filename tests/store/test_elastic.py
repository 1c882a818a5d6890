"""What the reports say of elastic jobs: what each held, before and after they changed size."""

from __future__ import annotations

from msgspec.structs import replace
from sqlalchemy import Engine

from tests.parts.reports import rows
from tests.store.histories import sealed
from tests.store.story import STORY, admitted, minute, submitted
from tests.store.test_reports import written
from tidegate.contracts.decisions import QuotaReleased
from tidegate.contracts.facts import WorkloadChanged
from tidegate.model.podset import PodSet

FIRST, SECOND = "a/job-grows", "a/job-grows-3"
QUEUES = STORY[0]


def cpu(engine: Engine) -> dict[str, float]:
    """Return the cores that each workload holds now."""
    held = rows(engine, "admitted_now")
    return {row["workload"]: row["amount"] for row in held if row["resource"] == "cpu"}


def test_an_elastic_job_that_shrinks_holds_less_and_another_does_not(engine: Engine) -> None:
    fewer = WorkloadChanged(
        at_us=minute(3), workload=FIRST, queue="main", podsets=(PodSet(count=1),), elastic=True
    )
    grows = replace(submitted(1, FIRST, 4), elastic=True)
    other = [submitted(1, "a/job-other", 4), *admitted(1, "a/job-other", "team-a", 4)]
    turns = [QUEUES, [grows, *admitted(1, FIRST, "team-a", 4)], other]
    written(engine, sealed(*turns, [fewer, replace(fewer, workload="a/job-other", elastic=False)]))
    held = cpu(engine)
    assert held[FIRST] * 4 == held["a/job-other"]


def test_a_slice_that_took_over_holds_all_and_the_other_is_finished(engine: Engine) -> None:
    grows = replace(submitted(1, FIRST, 2), elastic=True)
    larger = replace(submitted(2, SECOND, 3), elastic=True, replaces=FIRST)
    released = QuotaReleased(at_us=minute(2), workload=FIRST, reason="WorkloadSliceReplaced")
    turns = [QUEUES, [grows, *admitted(1, FIRST, "team-a", 2)]]
    written(engine, sealed(*turns, [larger, released, *admitted(2, SECOND, "team-a", 3)]))
    assert list(cpu(engine)) == [SECOND]
    assert rows(engine, "queue_now") == []
