"""What is done to streams, as a server sees it: what no service may do, whatever has failed.

The server of the world asks here behind each message that it stores and before each purge. Nothing
of this is read from a service, and nothing waits until a service notices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, NamedTuple

from tests.parts.nats.server import Server
from tests.parts.nats.stream import Clock, Incoming, Kept, Stream
from tests.simulation.judging.verdict import demand
from tidegate.contracts.entry import Position

Object = dict[str, Any]
EVENT = "ce-id"
"""The header that names an entry: ledger and seq."""
LEASE_S = 30.0
"""Behind a roll-back a sequence is given out twice: so long two may take a lease for theirs."""
LOOKED_US = 20_000
"""From a server's answer to what its client sends next: there and back at the most."""


class Taken:
    """How far each stream of observations is in some ledger, by its incarnation."""

    def __init__(self) -> None:
        self.told: Callable[[str], int] = _no_events  # the newest seq of a ledger that EVENTS keeps
        self._seqs = dict[int, int]()
        self._ends = dict[int, int]()

    def commit(self, position: Position) -> None:
        """Note a committed position, and object if it is one of what was never stored."""
        end = self._ends.get(position.incarnation, 0)
        text = f"observation {position.seq} counts as read, and {end} is the newest there was"
        demand(position.seq <= end, "loss", text)
        known = self._seqs.get(position.incarnation, 0)
        self._seqs[position.incarnation] = max(known, position.seq)

    def object_to_number(self, ledger_id: str, seq: int) -> None:
        """Object to an entry under a number that EVENTS has reported of something else."""
        number = self.told(ledger_id)
        text = f"{ledger_id}/{seq} is written, and EVENTS has told up to {number}"
        demand(seq > number, "past", text)

    def store(self, stream: Stream) -> None:
        """Note how far a stream is."""
        known = self._ends.get(stream.created_us, 0)
        self._ends[stream.created_us] = max(known, stream.last_seq)

    def object_to_purge(self, stream: Stream, below: int, now_us: int) -> None:
        """Object to the removal of what no ledger has, and to one that moves the stream's end.

        A purge has no condition: it may meet a stream that was made anew since its client looked.
        Whatever it takes there shows as a gap, for the reader has a position of another stream.
        """
        if now_us - stream.created_us <= LOOKED_US:
            return
        taken = self._seqs.get(stream.created_us, 0)
        kept = next(stream.after(max(taken, 0)), None)
        lost = kept is not None and kept.seq < below
        text = f"observations below {below} are purged, and {taken} is the newest in a ledger"
        demand(not lost, "loss", text)
        demand(below - 1 <= stream.last_seq, "loss", f"{below} is beyond the end")


class Stored(NamedTuple):
    """A message of a session as it stands in a stream."""

    seq: int
    session: str
    call: int  # the newest of the first calls for it and for what the session has before it


class Post:
    """What is handed over to be stored, in which order, and what came of it; by message id."""

    def __init__(self) -> None:
        self._calls = dict[str, tuple[int, int]]()  # the first and the newest call of each
        self._standing = dict[int, list[Stored]]()  # by stream, in the order of sequences
        self._stored = set[str]()
        self._numbers = count(1)

    def hand_over(self, name: str) -> bool:
        """Note that a client wants a message stored; tell whether that is the first time."""
        first = name not in self._calls
        number = next(self._numbers)
        self._calls[name] = self._calls.get(name, (number, 0))[0], number
        return first

    def store(self, name: str, incarnation: int, seq: int) -> None:
        """Note that a message was stored, and object if it was handed over before another.

        Which of the calls stored it is unknown: an early one's message may come after a later's.
        What stood there, or behind it, was taken back by a server that lost its newest messages.
        """
        session, standing = name.rpartition(":")[0], self._standing.setdefault(incarnation, [])
        while standing and standing[-1].seq >= seq:
            standing.pop()
        first, newest = self._calls.get(name, (0, 0))
        known = next((stored.call for stored in reversed(standing) if stored.session == session), 0)
        demand(newest >= known, "past", f"{name} is stored behind what was told after it")
        standing.append(Stored(seq, session, max(known, first)))
        self._stored.add(name)

    def object_to_lie(self, name: str) -> None:
        """Object if a message counts as stored that never was."""
        demand(name in self._stored, "loss", f"{name} counts as stored, and never was")


class WatchedServer(Server):
    """A server that objects to what is asked of it."""

    def __init__(self, clock: Clock, taken: Taken, post: Post) -> None:
        super().__init__(clock)
        self._taken, self._post = taken, post
        self._ids = dict[tuple[int, str], bytes]()  # by incarnation and id, what was stored first
        self.rolled_back_s = -LEASE_S  # when sequences were taken back, by a clock never stepped
        self.holes = set[str]()  # ids of what is lost as soon as it is stored, read by no client
        self._rules: dict[str, Callable[[Stream, Incoming, Object], None]] = {
            "observations": self._observed,
            "events": _published,
        }

    def _store(self, stream: Stream, message: Incoming) -> Object:
        kind = stream.config["name"].rpartition("_")[2]
        newest = _newest(stream, message) if kind == "events" else ""
        holds = stream.newest(message.subject) if kind == "leases" else None
        store = super()._store(stream, message)
        self._rules.get(kind, _nothing)(stream, message, store | {"newest": newest})
        since_s = asyncio.get_running_loop().time() - self.rolled_back_s
        if holds is not None and since_s > LEASE_S:
            _object_to_theft(holds, message)
        return store

    def _keep(self, stream: Stream, message: Incoming) -> Object:
        row = super()._keep(stream, message)
        name = message.headers.get("Nats-Msg-Id", "")
        if name in self.holes:
            self.holes.discard(name)
            stream.delete(row["seq"])
        return row

    def _purge(self, name: str, body: Object) -> Object:
        if name.endswith("_observations") and body.get("seq"):
            self._taken.object_to_purge(self.stream(name), body["seq"], self.clock())
        return super()._purge(name, body)

    def _observed(self, stream: Stream, message: Incoming, row: Object) -> None:
        """Object if one observation is taken for the repetition of another."""
        self._taken.store(stream)
        key = stream.created_us, message.headers.get("Nats-Msg-Id", "")
        if not row.get("duplicate"):
            self._ids[key] = message.payload
            self._post.store(key[1], key[0], row["seq"])
        same = self._ids.get(key, message.payload) == message.payload
        demand(same, "loss", f"{key[1]} names two observations, and the second is dropped")


def _published(stream: Stream, message: Incoming, obj: Object) -> None:
    """Object if EVENTS has an entry of one ledger twice, or not in order."""
    ledger_id, _, seq = message.headers.get(EVENT, "").rpartition("/")
    before = obj["newest"]
    follows = not before or int(seq) == int(before) + 1
    what = f"{stream.config['name']} has {ledger_id}/{seq} behind {ledger_id}/{before}"
    demand(follows or obj.get("duplicate"), "events", what)


def _newest(stream: Stream, message: Incoming) -> str:
    """Return the seq of the newest entry of a message's ledger that a stream keeps; "": none."""
    return newest_of(stream, message.headers.get(EVENT, "").rpartition("/")[0])


def newest_of(stream: Stream, ledger_id: str) -> str:
    """Return the seq of the newest entry of a ledger that a stream keeps; "": none."""
    kept = stream.newest_with(EVENT, f"{ledger_id}/")
    return "" if kept is None else kept.headers[EVENT].rpartition("/")[2]


def is_complete(stream: Stream, ledger_id: str, seqs: Iterable[int]) -> bool:
    """Tell whether EVENTS has each of some entries of a ledger."""
    marks = {record.headers.get(EVENT, "") for record in stream.after(0)}
    return all(f"{ledger_id}/{seq}" in marks for seq in seqs)


def _object_to_theft(holds: Kept, message: Incoming) -> None:
    """Object if a client overwrites a lease that another holds; giving it up writes nothing."""
    free = holds.payload in (b"", message.payload) or not message.payload
    demand(free, "once", f"{message.payload!r} takes a lease that {holds.payload!r} holds")


def _no_events(ledger_id: str) -> int:
    del ledger_id
    return 0


def _nothing(stream: Stream, message: Incoming, obj: Object) -> None:
    del stream, message, obj
