"""The only place that makes bytes of an event and reads them, and that bounds their size."""

from __future__ import annotations

from functools import cache
from typing import get_args

import msgspec

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import Event, FactEvent
from tidegate.contracts.history import OldEvent, upcast
from tidegate.contracts.observations import Observation
from tidegate.errors import TooLargeError, UndecodableError

PAYLOAD_BYTES_MAX = 900_000
"""Below NATS's default maximum payload of 1 MiB, with room for subject and headers."""

TYPES = frozenset(
    str(kind.__struct_config__.tag).partition("/")[0]
    for kind in (*get_args(FactEvent), *get_args(DecisionEvent))
)
"""The names of all types of events, as ``type_name`` gives them."""

_FAILURES = (msgspec.DecodeError, RecursionError, ValueError)
"""What bytes of any depth, and texts that are no UTF-8, make a decoder raise."""
_encoder = msgspec.json.Encoder()


def encode(message: Event | Observation) -> bytes:
    """Write an event or an observation as JSON, fields in declared order: equals give equal bytes.

    Raises:
        TooLargeError: it is larger than the bus takes.
    """
    data = _encoder.encode(message)
    if len(data) > PAYLOAD_BYTES_MAX:
        raise TooLargeError(f"at most {PAYLOAD_BYTES_MAX} bytes", len(data))
    return data


def decode(payload: str | bytes) -> FactEvent | DecisionEvent:
    """Read an event of any version that a ledger may hold, as today's.

    Raises:
        UndecodableError: the tag is unknown, or a field is missing or of another type.
    """
    try:
        return upcast(_events().decode(payload))
    except _FAILURES as error:
        raise UndecodableError(str(error)) from error


def decode_observation(payload: bytes) -> Observation:
    """Read an observation from the bus.

    Raises:
        UndecodableError: the tag is unknown, or a field is missing or of another type.
    """
    try:
        return _observations().decode(payload)
    except _FAILURES as error:
        raise UndecodableError(str(error)) from error


def type_name(event: Event) -> str:
    """Return the event's name as it stands in subjects and in the ledger's ``type`` column."""
    tag = event.__struct_config__.tag
    assert isinstance(tag, str)
    return tag.partition("/")[0]


@cache
def _events() -> msgspec.json.Decoder[FactEvent | DecisionEvent | OldEvent]:
    """Return the reader of events, made when the first is read: a fifth of a command's start."""
    return msgspec.json.Decoder(FactEvent | DecisionEvent | OldEvent)


@cache
def _observations() -> msgspec.json.Decoder[Observation]:
    return msgspec.json.Decoder(Observation)
