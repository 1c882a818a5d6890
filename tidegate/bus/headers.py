"""Headers of an event on the bus: CloudEvents 1.0 in binary mode, and the witness; and its row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.subjects import HEADER, name_of
from tidegate.errors import UndecodableError
from tidegate.model.ids import PARTITION_MAX
from tidegate.model.texts import parse_whole

MESSAGE_ID, EVENT_ID = "Nats-Msg-Id", "ce-id"
EXPECTED_SEQUENCE, EXPECTED_ID = "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id"
HASH, EPOCH, TURN = "Tidegate-Hash", "Tidegate-Epoch", "Tidegate-Turn"
_VERSION = "NATS/1.0\r\n"
_BLANK = " \t\n\r\x0b\f"
_NAME = re.compile(r"[!-9;-~]+")
_KNOWN, _KNOWN_MAX, _KNOWN_LENGTH_MAX = set[str](), 100, 64
"""Names that are known to be names of headers: there are few, and each comes with each message."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_headers(ledger_id: str, entry: Entry, counts: Position) -> dict[str, str]:
    """Return an entry's headers; the message id makes only a retry of it a duplicate.

    So it tells apart what is published again where EVENTS counts otherwise: a server knows the ids
    of what it lost for a while.
    """
    name = f"{ledger_id}/{entry.seq}"
    return {
        MESSAGE_ID: f"{name}@{counts.seq}" if counts.seq else name,
        HASH: entry.hash.hex(),
        EPOCH: str(entry.epoch),
        TURN: str(entry.turn),
        "ce-specversion": "1.0",
        EVENT_ID: name,
        "ce-type": f"dev.tidegate.{entry.type}",
        "ce-source": f"/tidegate/{entry.cluster}/{entry.partition}",
        "ce-subject": _cloudevents_subject(entry.subject),
        "ce-time": _cloudevents_time(entry.at_us),
        "content-type": "application/json",
    }


def header_block(headers: Mapping[str, str]) -> bytes | None:
    """Return headers as NATS' protocol has them; None: the client has to look at them first.

    That is so where a name is none, or a value breaks its line.
    """
    if not _KNOWN.issuperset(headers) and not all(map(_is_header_name, headers)):
        return None
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        return None
    return f"{_VERSION}{lines}\r\n".encode()


def parse_header_block(block: bytes) -> dict[str, str]:
    """Return the headers that follow the first line of a block; the inverse of ``header_block``.

    What is no header is left out; bytes that are no UTF-8 are replaced.
    """
    read = dict[str, str]()
    for line in block.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon and (name in _KNOWN or _is_header_name(name := name.strip(_BLANK))):
            read[name] = value.strip(_BLANK)
    return read


def _is_header_name(text: str) -> bool:
    """Return whether a text is the name of a header, and remember that."""
    if not _NAME.fullmatch(text):
        return False
    if len(_KNOWN) < _KNOWN_MAX and len(text) <= _KNOWN_LENGTH_MAX:
        _KNOWN.add(text)
    return True


def ledger_id_and_seq(headers: Mapping[str, str]) -> tuple[str, int]:
    """Return the ledger id and seq of a message of EVENTS; ("", 0) if it is not one of ours."""
    ledger_id, _, seq = headers.get(EVENT_ID, "").rpartition("/")
    number = parse_whole(seq)
    return (ledger_id, number) if ledger_id and number is not None else ("", 0)


def parse_event(headers: Mapping[str, str], subject: str, payload: bytes) -> Published | None:
    """Return the headers of a message of EVENTS; None if it is not one of ours."""
    ledger_id, seq = ledger_id_and_seq(headers)
    if not ledger_id:
        return None
    return Published(
        ledger_id=ledger_id,
        seq=seq,
        subject=subject,
        payload=payload,
        epoch=parse_whole(headers.get(EPOCH, "0")) or 0,
        turn=parse_whole(headers.get(TURN, "0")) or 0,
        hash=_hash_bytes(headers.get(HASH, "")),
        trace=headers.get(HEADER, ""),
    )


def parse_message(headers: Mapping[str, str], subject: str, payload: bytes) -> Published:
    """Return the headers of a message of EVENTS; ledger "" and seq 0 if it is not one of ours."""
    message = parse_event(headers, subject, payload)
    return Published("", 0, subject, payload) if message is None else message


@lru_cache(maxsize=64)
def _cloudevents_time(at_us: int) -> str:
    """Return a time as CloudEvents have it; the events of a turn are mostly of one."""
    at = _EPOCH + timedelta(microseconds=at_us)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _hash_bytes(text: str) -> bytes:
    """Return the bytes of a hash; none of what is none, which then proves nothing."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _cloudevents_subject(subject: str) -> str:
    """Return an event's CloudEvents subject: workload, else ClusterQueue, else cluster."""
    words = subject.split(".")
    queue, namespace, name = words[-3:]
    if workload := name_of(name):
        return f"{name_of(namespace)}/{workload}"
    return name_of(queue) or name_of(words[1])


class _Time(msgspec.Struct, frozen=True):
    """The field that every event has."""

    at_us: int


_at_us = msgspec.json.Decoder(_Time)


def entry_of(message: Published) -> Entry:
    """Return the row of a message.

    Raises:
        UndecodableError: its event is newer than this version knows.
    """
    decode(message.payload)
    row = row_of(message)
    if row is None:
        raise UndecodableError(f"The message on {message.subject} is no row of a ledger.")
    return row


def row_of(message: Published) -> Entry | None:
    """Return the row of a message, with any event; None: it cannot be one."""
    try:
        partition, cluster, kind = _subject_parts(message.subject)
        return Entry(
            partition=partition,
            seq=message.seq,
            epoch=message.epoch,
            turn=message.turn,
            at_us=_at_us.decode(message.payload).at_us,
            cluster=cluster,
            type=kind,
            subject=message.subject,
            payload=message.payload.decode(),
            hash=message.hash,
        )
    except (msgspec.DecodeError, ValueError):
        return None


def _subject_parts(subject: str) -> tuple[int, str, str]:
    """Return whose partition's event a subject names, its cluster and type.

    Raises:
        ValueError: it is no event's.
    """
    _, cluster, *rest = subject.split(".")
    partition: int | None = 0
    if rest[:1] == ["partition"]:
        _, number, *rest = rest
        partition = parse_whole(number, PARTITION_MAX)
    _, kind, *_ = rest
    if partition is None:
        raise ValueError(subject)
    return partition, name_of(cluster), kind
