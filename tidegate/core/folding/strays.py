"""Strays: running objects without a workload. Each is stopped, and kept stopped.

Either a stray's requests cannot be read, or a managed object that owns it waits. It holds no quota
and is in no queue; only its state is known.

Source: behaviour.md 15.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.contracts.facts import StrayCleared, StrayReported
from tidegate.core.state import deadlines
from tidegate.core.state.state import Order, State, Stray

FAMILY = "stray"
DOUBLINGS_MAX = 5
"""The interval of repeated stops, ``Policy.repair_after_us``, is doubled at most so often."""
MESSAGES = {
    "Unreadable": "The object cannot be read, so its requests are unknown.",
    "OwnerWaits": "The job that owns the object waits for quota.",
    "OwnerMayWait": "The job that owns the object waits for quota, or does not exist.",
}
"""Why a stray is stopped: the message of the Kubernetes Event on the object."""


def fold_stray(state: State, event: StrayReported | StrayCleared | StopOrdered) -> None:
    """Fold an observation of a stray, or the order to stop it."""
    stray = state.strays.get(event.uid)
    match event:
        case StrayReported():
            state.strays[event.uid] = Stray(
                key=event.workload,
                job=event.job,
                resource=event.resource,
                version=event.version,
                reason=event.reason,
                state=event.state,
                order=None if stray is None else stray.order,
            )
            _set_stop_deadline(state, event.uid, resumed=stray is None or stray.state.suspended)
        case StrayCleared():
            state.strays.pop(event.uid, None)
            deadlines.clear(state, f"{FAMILY}/{event.uid}")
        case StopOrdered():
            if stray is not None:
                attempt = 1 if stray.order is None else stray.order.attempt + 1
                stray.order = Order(kind="stop", seq=state.seq, at_us=event.at_us, attempt=attempt)
                _set_stop_deadline(state, event.uid, resumed=False)
        case _:
            assert_never(event)


def stop_strays(state: State, uids: list[str]) -> Iterator[list[DecisionEvent]]:
    """Yield the stop of each of these strays."""
    for uid in uids:
        stray = state.strays.get(uid)
        if stray is not None:
            yield [
                StopOrdered(
                    at_us=state.now_us,
                    workload=stray.key,
                    uid=uid,
                    job=stray.job,
                    reason=stray.reason,
                    message=MESSAGES[stray.reason],
                )
            ]


def _set_stop_deadline(state: State, uid: str, *, resumed: bool) -> None:
    """Set a stray's deadline for the next stop, or clear it; ``resumed``: it has just started."""
    stray, key = state.strays[uid], f"{FAMILY}/{uid}"
    if stray.state.suspended or stray.state.deleting:
        deadlines.clear(state, key)
        return
    after_us = state.policy.repair_after_us
    if stray.order is not None and not resumed:
        doubled = after_us << min(stray.order.attempt - 1, DOUBLINGS_MAX)
        deadlines.set(state, key, stray.order.at_us + doubled)
    elif stray.order is None and stray.reason == "OwnerMayWait":
        # By then its owner may be observed, or observed running.
        deadlines.set(state, key, state.now_us + after_us)
    else:
        deadlines.set_due(state, key)
