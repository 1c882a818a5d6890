"""A batch Job whose copy runs ahead of it is shown as suspended.

Source: multikueue.md 3.2.
"""

from __future__ import annotations

from dispatcher.adapters.jobs import suspended_patch
from tests.dispatcher.test_copies import AT, job


def test_a_job_whose_copy_runs_is_shown_as_suspended_until_it_runs_here() -> None:
    other = {"type": "FailureTarget", "status": "False"}
    waits = job(suspend=True, conditions=[other, {"type": "Suspended", "status": "False"}])
    patch = suspended_patch(waits, job(suspend=False, startTime=AT))
    assert patch is not None
    conditions = patch["status"]["conditions"]
    assert conditions[0] == other
    assert conditions[1] == {
        "type": "Suspended",
        "status": "True",
        "reason": "MultiKueueAdapter",
        "message": "Set by MultiKueue adapter",
        "lastProbeTime": AT,
        "lastTransitionTime": AT,
    }
    assert suspended_patch(job(suspend=True, **patch["status"]), job(suspend=False)) is None
