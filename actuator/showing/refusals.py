"""A refusal told where its reader looks: a Kubernetes Event on the object that cannot be read."""

from __future__ import annotations

from actuator.showing.told import event_about
from tidegate.contracts.reception import ObservationRefused
from tidegate.contracts.subjects import name_of
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS

_TOKENS = 6


def refusal(event: ObservationRefused, seq: int) -> Object | None:
    """Return the Event about a job that was refused; None if it is no job, or has no name."""
    tokens = event.subject.split(".")
    if len(tokens) != _TOKENS or not event.uid:
        return None
    resource, namespace, name = map(name_of, tokens[3:])
    kind = next((one for one in JOB_KINDS.values() if one.resource == resource), None)
    if kind is None or not namespace or not name:
        return None
    regarding = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": namespace,
        "name": name,
        "uid": event.uid,
    }
    return event_about(regarding, f"{seq:x}.r", event.at_us, ("Warning", event.reason, event.error))
