"""Encodes and decodes events and observations as JSON, and bounds their size."""

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
"""Below NATS's default maximum payload of 1 MiB, leaving bytes for subject and headers."""

TYPES = frozenset(
    str(kind.__struct_config__.tag).partition("/")[0]
    for kind in (*get_args(FactEvent), *get_args(DecisionEvent))
)
"""The names of all event types, as returned by ``type_name``."""

FAILURES = (msgspec.DecodeError, RecursionError, ValueError)
"""The exceptions of a decoder for arbitrary bytes, however deep, also if not UTF-8."""
_encoder = msgspec.json.Encoder()


def encode(message: Event | Observation) -> bytes:
    """Encode an event or an observation as JSON, fields in declared order.

    Equal messages give equal bytes.

    Raises:
        TooLargeError: the message is larger than NATS accepts.
    """
    data = _encoder.encode(message)
    if len(data) > PAYLOAD_BYTES_MAX:
        raise TooLargeError(f"at most {PAYLOAD_BYTES_MAX} bytes", len(data))
    return data


def decode(payload: str | bytes) -> FactEvent | DecisionEvent:
    """Decode an event of any version that a ledger may hold, in its present form.

    Raises:
        UndecodableError: the tag is unknown, or a field is missing or of another type.
    """
    try:
        return upcast(_events().decode(payload))
    except FAILURES as error:
        raise UndecodableError(str(error)) from error


def decode_observation(payload: bytes) -> Observation:
    """Decode an observation from NATS.

    Raises:
        UndecodableError: the tag is unknown, or a field is missing or of another type.
    """
    try:
        return _observations().decode(payload)
    except FAILURES as error:
        raise UndecodableError(str(error)) from error


def type_name(event: Event) -> str:
    """Return the event's name as in subjects and in the ledger's ``type`` column."""
    return _name_of_type(type(event))


@cache
def _name_of_type(kind: type[Event]) -> str:
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str)
    return tag.partition("/")[0]


@cache
def _events() -> msgspec.json.Decoder[FactEvent | DecisionEvent | OldEvent]:
    """Return the decoder of events, created on first use: it takes a fifth of a command's start."""
    return msgspec.json.Decoder(FactEvent | DecisionEvent | OldEvent)


@cache
def _observations() -> msgspec.json.Decoder[Observation]:
    return msgspec.json.Decoder(Observation)
