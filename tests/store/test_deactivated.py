"""Workloads that a decision deactivated, in the reports: inactive until they are revived."""

from __future__ import annotations

from sqlalchemy import Engine, text

from tests.store.histories import sealed
from tests.store.story import STORY, minute, submitted
from tests.store.test_reports import written
from tidegate.contracts.decisions import WorkloadDeactivated
from tidegate.contracts.facts import WorkloadChanged

KEY = "a/job-train"
GIVEN_UP = WorkloadDeactivated(at_us=minute(2), workload=KEY, reason="RequeuingLimitExceeded")


def changed(at: float, *, active: bool) -> WorkloadChanged:
    return WorkloadChanged(at_us=minute(at), workload=KEY, queue="main", active=active)


def phase(engine: Engine, *changes: WorkloadChanged) -> str:
    written(engine, sealed(STORY[0], [submitted(1, KEY, 1)], [GIVEN_UP], *([c] for c in changes)))
    with engine.connect() as conn:
        return str(conn.execute(text("SELECT phase FROM report_workload")).scalar_one())


def test_a_change_before_the_deactivation_was_written_revives_nothing(engine: Engine) -> None:
    assert phase(engine, changed(3, active=True)) == "inactive"


def test_the_owner_revives_it(engine: Engine) -> None:
    assert phase(engine, changed(3, active=False), changed(4, active=True)) == "pending"
