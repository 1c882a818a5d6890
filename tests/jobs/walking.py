"""A job's steps walked to their end, each patch applied to the object as an API server would."""

from __future__ import annotations

from typing import Any

from tidegate.jobs.kind import JobKind, Object, Patch, Start, Stop, Wait

IDLE: Object = {
    "status": {
        "startTime": None,
        "active": 0,
        "replicatedJobsStatus": [],
        "aboard": 0,
        "state": "suspended",
    }
}


def merged(obj: Object, patch: Object) -> Object:
    result = dict(obj)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merged(result.get(name) or {}, value)
        else:
            result[name] = value
    return result


def carried_out(kind: JobKind[Any], job: Object, order: Start | Stop) -> Object:
    """Take every step, with a controller that ends all pods as soon as it is waited for."""
    for _ in range(10):
        match order:
            case Start():
                step = kind.start(order, job)
            case Stop():
                step = kind.stop(order, job, 0.0)
        match step:
            case Patch():
                job = merged(job, step.body)
            case Wait():
                job = merged(job, IDLE)
            case _:
                return job
    raise AssertionError("the steps never end")
