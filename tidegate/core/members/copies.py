"""How events about the copies of placed jobs change the state.

The rules are docs/adr/0029.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.fact_kinds.copies import CopyRemoved, CopyReported, EndShown, HomeGone
from tidegate.core.state.remotes import Copy
from tidegate.core.state.state import State

CopyEvent: TypeAlias = (
    CopyOrdered | CopyRemovalOrdered | CopyReported | CopyRemoved | EndShown | HomeGone
)


def apply_copy(state: State, event: CopyEvent) -> None:
    """Fold an event about a copy; about one that is not known it changes nothing."""
    match event:
        case CopyReported():
            _report(state, event)
        case CopyRemoved():
            state.copies.pop(event.copy.uid, None)
        case CopyRemovalOrdered():
            if (copy := state.copies.get(event.copy.uid)) is not None:
                copy.removals, copy.removal_us = event.attempt, event.at_us
        case CopyOrdered() | EndShown() | HomeGone():
            pass  # these are the workload's
        case _:
            assert_never(event)


def _report(state: State, event: CopyReported) -> None:
    copy = state.copies.get(event.copy.uid)
    if copy is None:
        copy = Copy(ref=event.copy, origin=event.uid, resource=event.resource, queue=event.queue)
        state.copies[event.copy.uid] = copy
    copy.version, copy.state = max(copy.version, event.version), event.state
    copy.ready, copy.finished = event.ready, event.finished
    copy.may_run = copy.may_run or not event.state.suspended
