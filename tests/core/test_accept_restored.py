"""A cluster that was restored from a backup: jobs are again what they were before."""

from __future__ import annotations

from tests.core.telling import RUNNING, Bus, completed, job, queues, started, types


def test_a_job_that_had_ended_and_runs_in_the_restored_cluster_is_submitted_again() -> None:
    bus = Bus().opened()
    bus.tell(*queues(), started(), completed(3), job(version=8, state=RUNNING))
    bus.tell(job(version=20, state=RUNNING, finished="Succeeded"))
    bus.tell(started(number=2))
    bus.tell(job(version=8, state=RUNNING, round=2))
    found = bus.tell(completed(9, job().uid, number=2))
    assert [one for one in types(found) if one.startswith("Workload")] == [
        "WorkloadRemoved",
        "WorkloadSubmitted",
    ]
