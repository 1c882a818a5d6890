"""Old forms of events, read-only for ever, and their conversion to the present forms.

None yet: when the meaning of an event first changes, its old Struct moves here (docs/adr/0003).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import Event, FactEvent


class Nothing(Event, frozen=True, kw_only=True, tag="Nothing/0"):
    """No ledger holds this; it keeps the union of old forms from being empty."""


OldEvent: TypeAlias = Nothing


def upcast(event: FactEvent | DecisionEvent | OldEvent) -> FactEvent | DecisionEvent:
    """Return the present form of an event; total, pure, from the event alone.

    Raises:
        msgspec.DecodeError: a form that was never written.
    """
    if isinstance(event, Nothing):
        raise msgspec.DecodeError("Nothing/0 was never written to a ledger")
    return event
