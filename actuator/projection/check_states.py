"""The admission checks in a Workload's status: which there are, and when they begin anew.

Their controllers write the states; that a check is asked for, and that what it said no longer
counts, is ours to show. A condition written together with a reset names the decision that it
follows, so whatever is read beside that was said after it, however fast. Source: behaviour.md 8.1,
9.1.
"""

from __future__ import annotations

from actuator.projection import clusters
from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    ReservationRepeated,
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.times import stamp

MESSAGE_MAX = 32_768
_CHECK = "AdmissionCheck"


def follow(shown: WorkloadView, event: FactEvent | DecisionEvent, decision: str) -> None:
    """Take in what an event makes of a workload's checks; ``decision`` is its name."""
    clusters.begin_anew(shown, event)
    match event:
        case QuotaReserved():
            shown.checks, shown.checks_at_us = event.checks, event.at_us
            shown.checks_since = decision if event.checks else shown.checks_since
        case ReservationRepeated(admitted=True):
            shown.checks = event.checks
        case ReservationRepeated():
            shown.checks, shown.checks_at_us = event.checks, event.at_us
            shown.checks_since = decision
        case WorkloadEvicted() | QuotaReleased() if shown.checks or _failed(event):
            shown.checks_since, shown.checks_at_us = decision, event.at_us
        case _:
            pass


def _failed(event: WorkloadEvicted | QuotaReleased) -> bool:
    """Tell whether a check ended it, that may have spoken before there was a reservation."""
    return isinstance(event, WorkloadEvicted) and _CHECK in (event.reason, event.cause)


def put(status: Object, shown: WorkloadView, obj: Object) -> None:
    """Put into a status how the checks shall stand; ``obj`` is the Workload as it is."""
    if shown.phase == "finished" or not (shown.checks_since or shown.checks):
        return
    told: dict[str, Object] = {
        one["name"]: one for one in obj.get("status", {}).get("admissionChecks", ())
    }
    holds = shown.phase in ("reserved", "admitted")
    wanted = shown.checks if holds else tuple(sorted({*told, *shown.checks}))
    again = _noted(obj) != shown.checks_since
    told = clusters.states(shown, told, again=again)
    states = [_state(shown, name, told.get(name), again=again) for name in wanted]
    if states:
        status["admissionChecks"] = states
    else:
        status.pop("admissionChecks", None)
    if again:
        others = (one for one in status.get("conditions", ()) if one["type"] != names.CHECKS_SINCE)
        status["conditions"] = [*others, _note(shown)]


def _noted(obj: Object) -> str:
    told = obj.get("status", {}).get("conditions", ())
    return next((one["message"] for one in told if one["type"] == names.CHECKS_SINCE), "")


def _note(shown: WorkloadView) -> Object:
    return {
        "type": names.CHECKS_SINCE,
        "status": "True",
        "reason": "Reset",
        "message": shown.checks_since,
        "lastTransitionTime": stamp(shown.checks_at_us),
    }


def _state(shown: WorkloadView, name: str, told: Object | None, *, again: bool) -> Object:
    at = stamp(shown.checks_at_us)
    if told is None:
        return {"name": name, "state": "Pending", "lastTransitionTime": at, "message": ""}
    if not again or told["state"] == "Pending":
        return told
    said = f"Reset to Pending after eviction. Previously: {told['state']}"
    said = f"{said}. {told['message']}" if told.get("message") else said
    state: Object = {
        "name": name,
        "state": "Pending",
        "lastTransitionTime": at,
        "message": said[:MESSAGE_MAX],
    }
    if "requeueAfterSeconds" in told:
        state["requeueAfterSeconds"] = told["requeueAfterSeconds"]
    if told["state"] == "Retry":
        state["retryCount"] = told.get("retryCount", 0) + 1
    return state
