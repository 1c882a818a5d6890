"""The admission checks in a Workload's status: which there are, and when they are reset.

Their controllers write the states; that a check is required, and that its former state no longer
counts, is ours to show. A condition written together with a reset names the decision that it
follows, so a state beside it was written after it, however fast. Source: behaviour.md 8.1,
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


def follow(view: WorkloadView, event: FactEvent | DecisionEvent, decision: str) -> None:
    """Take in what an event makes of a workload's checks; ``decision`` is its name."""
    clusters.begin_anew(view, event)
    match event:
        case QuotaReserved():
            view.checks, view.checks_at_us = event.checks, event.at_us
            view.checks_since = decision if event.checks else view.checks_since
        case ReservationRepeated(admitted=True):
            view.checks = event.checks
        case ReservationRepeated():
            view.checks, view.checks_at_us = event.checks, event.at_us
            view.checks_since = decision
        case WorkloadEvicted() | QuotaReleased() if view.checks or _failed(event):
            view.checks_since, view.checks_at_us = decision, event.at_us
        case _:
            pass


def _failed(event: WorkloadEvicted | QuotaReleased) -> bool:
    """Return whether a check ended it, that may have spoken before there was a reservation."""
    return isinstance(event, WorkloadEvicted) and _CHECK in (event.reason, event.cause)


def put(status: Object, view: WorkloadView, obj: Object) -> None:
    """Set the desired check states in a status; ``obj`` is the present Workload."""
    if view.phase == "finished" or not (view.checks_since or view.checks):
        return
    present: dict[str, Object] = {
        state["name"]: state for state in obj.get("status", {}).get("admissionChecks", ())
    }
    holds = view.phase in ("reserved", "admitted")
    names_wanted = view.checks if holds else tuple(sorted({*present, *view.checks}))
    again = _noted(obj) != view.checks_since
    present = clusters.states(view, present, again=again)
    states = [_state(view, name, present.get(name), again=again) for name in names_wanted]
    if states:
        status["admissionChecks"] = states
    else:
        status.pop("admissionChecks", None)
    if again:
        if view.nominated is None:  # what was nominated for an earlier reservation
            status.pop("nominatedClusterNames", None)
        others = (
            condition
            for condition in status.get("conditions", ())
            if condition["type"] != names.CHECKS_SINCE
        )
        status["conditions"] = [*others, _note(view)]


def _noted(obj: Object) -> str:
    conditions = obj.get("status", {}).get("conditions", ())
    return next(
        (
            condition["message"]
            for condition in conditions
            if condition["type"] == names.CHECKS_SINCE
        ),
        "",
    )


def _note(view: WorkloadView) -> Object:
    return {
        "type": names.CHECKS_SINCE,
        "status": "True",
        "reason": "Reset",
        "message": view.checks_since,
        "lastTransitionTime": stamp(view.checks_at_us),
    }


def _state(view: WorkloadView, name: str, current: Object | None, *, again: bool) -> Object:
    at = stamp(view.checks_at_us)
    if current is None:
        return {"name": name, "state": "Pending", "lastTransitionTime": at, "message": ""}
    if not again or current["state"] == "Pending":
        return current
    message = f"Reset to Pending after eviction. Previously: {current['state']}"
    message = f"{message}. {current['message']}" if current.get("message") else message
    state: Object = {
        "name": name,
        "state": "Pending",
        "lastTransitionTime": at,
        "message": message[:MESSAGE_MAX],
    }
    if "requeueAfterSeconds" in current:
        state["requeueAfterSeconds"] = current["requeueAfterSeconds"]
    if current["state"] == "Retry":
        state["retryCount"] = current.get("retryCount", 0) + 1
    return state
