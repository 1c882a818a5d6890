"""A group of pods that is called as the Workload of a Job takes nothing from that Job."""

from __future__ import annotations

from tests.core.telling import RUNNING, Bus, gone, job
from tidegate.contracts.observations import JobObserved

TRAIN = job("train", state=RUNNING)


def group(version: int) -> JobObserved:
    """Return a group of pods called as the Workload of ``TRAIN``."""
    name = TRAIN.workload.partition("/")[2]
    return job(name, uid="pod.group", version=version, kind="pod-group", workload=TRAIN.workload)


def test_a_job_of_another_kind_waits_for_a_workload_that_is_held() -> None:
    bus = Bus().opened()
    bus.tell(TRAIN)
    assert bus.tell(group(version=30)) == []
    assert bus.only().uid == TRAIN.uid
    bus.tell(gone("train", version=31))
    bus.tell(group(version=32))
    assert bus.only().uid == "pod.group"
