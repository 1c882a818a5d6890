"""Raw bytes of the API server to objects: watch lines, lists, single objects.

One object that cannot be read never hides the others: it comes as ``Unreadable`` with as much of
its metadata as could be. Older spellings come out as v1beta2, whatever version was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from tidegate.errors import UndecodableError
from tidegate.kinds.kueue_api.v1beta1 import may_be_v1beta1, to_v1beta2
from tidegate.kinds.meta import ListMeta, ObjectMeta, Status
from tidegate.model.texts import parse_whole

T = TypeVar("T")
Noted: TypeAlias = Callable[[Any, bytes], None]
"""Is called with each object that could be read, and with its JSON; raises nothing."""
EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark after the initial events of a streamed list."""
ERROR_MAX = 1_024
"""Characters of an error that are shown: an error may quote its input."""
FAILURES = (
    msgspec.DecodeError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What bytes and JSON of any depth and form make a decoder raise."""


class Unreadable(msgspec.Struct, frozen=True):
    """An object that is there and cannot be read; the error names the field."""

    metadata: ObjectMeta
    error: str
    body: bytes = b""  # its JSON


class Bookmark(msgspec.Struct, frozen=True):
    """The version up to which a watch has delivered every change."""

    version: int
    initial_events_end: bool = False


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list."""

    version: int
    next: str  # the token of the next page; empty: this was the last
    items: tuple[T | Unreadable, ...]


class _Line(msgspec.Struct, frozen=True):
    type: EventType
    object: msgspec.Raw


class _Only(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _List(msgspec.Struct, frozen=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


_lines = msgspec.json.Decoder(_Line)
_lists = msgspec.json.Decoder(_List)
_metadata = msgspec.json.Decoder(_Only)
_objects = msgspec.json.Decoder(dict[str, Any])
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}  # one a kind: the code's own types bound it


def decode(
    line: bytes, kind: type[T], noted: Noted | None = None
) -> tuple[EventType, T | Unreadable | Bookmark | Status]:
    """Read one line of a watch; BOOKMARK comes with a ``Bookmark``, ERROR with a ``Status``.

    Raises:
        UndecodableError: the line is not a watch event at all.
    """
    event = _decode_as(_lines, line)
    match event.type:
        case "ERROR":
            return event.type, _decode_as(_decoder(Status), event.object)
        case "BOOKMARK":
            meta = _decode_as(_metadata, event.object).metadata
            ended = INITIAL_EVENTS_END in meta.annotations
            return event.type, Bookmark(meta.version, ended)
        case _:
            return event.type, _decode_item(event.object, kind, noted)


def decode_list(body: bytes, kind: type[T], noted: Noted | None = None) -> Page[T]:
    """Read one page of a list.

    Raises:
        UndecodableError: the body is not a list at all.
    """
    listing = _decode_as(_lists, body)
    version = parse_whole(listing.metadata.resource_version) or 0
    items = tuple(_decode_item(obj, kind, noted) for obj in listing.items)
    return Page(version, listing.metadata.continue_, items)


def decode_object(body: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Read one object.

    Raises:
        UndecodableError: a field is missing or of another type; the message names it.
    """
    if may_be_v1beta1(kind, body):
        return read(_decode_plain(body), kind)
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError:
        return read(_decode_plain(body), kind)  # perhaps it only has null for absent fields
    except FAILURES as error:
        raise UndecodableError(error_text(error)) from error


def read(raw: dict[str, Any], kind: type[T]) -> T:
    """Read one object from builtins, in either version's spelling; null means absent.

    Raises:
        UndecodableError: a field is missing or of another type; the message names it.
    """
    try:
        return msgspec.convert(to_v1beta2(kind, raw), kind)
    except FAILURES:
        pass  # perhaps it only has null for absent fields
    try:
        return msgspec.convert(to_v1beta2(kind, _without_nulls(raw)), kind)
    except FAILURES as error:
        raise UndecodableError(error_text(error)) from error


def error_text(error: BaseException) -> str:
    """Return an error's message, cut to a length; its type if it has none."""
    return (str(error) or type(error).__name__)[:ERROR_MAX]


def _decode_plain(body: bytes | msgspec.Raw) -> dict[str, Any]:
    return _decode_as(_objects, body)


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind)
    return cast("msgspec.json.Decoder[T]", _decoders[kind])


def _decode_as(decoder: msgspec.json.Decoder[T], body: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(body)
    except FAILURES as error:
        raise UndecodableError(error_text(error)) from error


def _decode_item(body: msgspec.Raw, kind: type[T], noted: Noted | None) -> T | Unreadable:
    try:
        obj = decode_object(body, kind)
    except Exception as error:  # noqa: BLE001 - whatever one object does, the others are read
        return Unreadable(_metadata_of(body), error_text(error), bytes(body))
    if noted is not None:
        noted(obj, bytes(body))
    return obj


def _metadata_of(body: msgspec.Raw) -> ObjectMeta:
    try:
        return _decode_as(_metadata, body).metadata
    except UndecodableError:
        return ObjectMeta()


def _without_nulls(node: Any) -> Any:  # noqa: ANN401  # any JSON value
    match node:
        case dict():
            return {key: _without_nulls(value) for key, value in node.items() if value is not None}
        case list():
            return [_without_nulls(value) for value in node]
        case _:
            return node
