"""What stands beside an event on the bus: CloudEvents 1.0 in binary mode, and the witness.

``Tidegate-Hash`` is the entry's hash from the ledger's chain. A chain cannot see that its tail was
cut off; the newest message's hash can. With epoch and turn beside it a message has every column of
its row, so that a ledger can be made again from EVENTS.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tidegate.contracts.entry import Entry, Position, Published
from tidegate.contracts.messages.subjects import name_of
from tidegate.contracts.messages.trace import HEADER
from tidegate.model.numbers import whole

MESSAGE_ID, EVENT_ID = "Nats-Msg-Id", "ce-id"
EXPECTED_SEQUENCE, EXPECTED_ID = "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id"
HASH, EPOCH, TURN = "Tidegate-Hash", "Tidegate-Epoch", "Tidegate-Turn"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_headers(ledger_id: str, entry: Entry, counts: Position) -> dict[str, str]:
    """Return an entry's headers; the message id makes only a retry of it a duplicate.

    So it distinguishes what is published again where EVENTS counts otherwise: a server knows the
    ids of what it lost for a while.
    """
    name = f"{ledger_id}/{entry.seq}"
    at = _EPOCH + timedelta(microseconds=entry.at_us)
    return {
        MESSAGE_ID: f"{name}@{counts.seq}" if counts.seq else name,
        HASH: entry.hash.hex(),
        EPOCH: str(entry.epoch),
        TURN: str(entry.turn),
        "ce-specversion": "1.0",
        EVENT_ID: name,
        "ce-type": f"dev.tidegate.{entry.type}",
        "ce-source": f"/tidegate/{entry.cluster}/{entry.partition}",
        "ce-subject": _about(entry.subject),
        "ce-time": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "content-type": "application/json",
    }


def identity(headers: Mapping[str, str]) -> tuple[str, int]:
    """Return the ledger id and seq of a message of EVENTS; ("", 0) if it is not one of ours."""
    ledger_id, _, seq = headers.get(EVENT_ID, "").rpartition("/")
    number = whole(seq)
    return (ledger_id, number) if ledger_id and number is not None else ("", 0)


def published(headers: Mapping[str, str], subject: str, payload: bytes) -> Published | None:
    """Return the entry in a message of EVENTS; None if it is not one of ours."""
    ledger_id, seq = identity(headers)
    if not ledger_id:
        return None
    return Published(
        ledger_id=ledger_id,
        seq=seq,
        subject=subject,
        payload=payload,
        epoch=whole(headers.get(EPOCH, "0")) or 0,
        turn=whole(headers.get(TURN, "0")) or 0,
        hash=_digest(headers.get(HASH, "")),
        trace=headers.get(HEADER, ""),
    )


def standing(headers: Mapping[str, str], subject: str, payload: bytes) -> Published:
    """Return the entry in a message of EVENTS; ledger "" and seq 0 if it is not one of ours."""
    message = published(headers, subject, payload)
    return Published("", 0, subject, payload) if message is None else message


def _digest(text: str) -> bytes:
    """Return the bytes of a hash; none of what is none, which then proves nothing."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _about(subject: str) -> str:
    """Return the workload, else the ClusterQueue, else the cluster that an event is about."""
    words = [name_of(word) for word in subject.split(".")]
    cluster, (queue, namespace, name) = words[1], words[-3:]
    return f"{namespace}/{name}" if name else queue or cluster
