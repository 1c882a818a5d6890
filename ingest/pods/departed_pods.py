"""Pods that run and name their job no longer: each must not run, for no stop of the job finds it.

Such a pod counts for its job until it is gone, whatever its labels say by now.
"""

from __future__ import annotations

import msgspec

from ingest.definitions import refusal_of
from ingest.jobs.ownership import ResourceObservation
from tidegate.jobs.job_metadata import stray_job
from tidegate.jobs.pods import pod
from tidegate.kinds.pods import Pod

LEFT = "The pod runs, and its labels and owner do not name its job any more."


def must_not_run(member: Pod, why: str = LEFT) -> ResourceObservation:
    """Return the observation of a pod that is to be stopped by itself."""
    obj = msgspec.to_builtins(member)
    observation = stray_job(pod.KIND, member.metadata, obj, "Unreadable", why)
    return pod.KIND.resource, refusal_of(pod.KIND.resource, observation, why, observation)
