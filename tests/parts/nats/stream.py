"""One stream of the simulated server: sequences, limits, ids within their window, times to live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Clock = Callable[[], int]
"""Tells UTC microseconds."""

STREAM_NOT_FOUND, CONSUMER_NOT_FOUND, MESSAGE_NOT_FOUND = 10059, 10014, 10037
WRONG_SEQUENCE, WRONG_ID, FULL, REFUSED = 10071, 10070, 10077, 10052
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTED_BYTES = 512 * 1024
"""Larger bounds are met by no test."""


class ApiError(Exception):
    """What the server answers in place of a result, by the number that JetStream gives it."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(description)
        self.code, self.description = code, description


class Kept(NamedTuple):
    """A stored message."""

    seq: int
    at_us: int
    subject: str
    payload: bytes
    headers: Mapping[str, str]
    until_us: int  # when it expires; 0: never


class Incoming(NamedTuple):
    """A message to be stored."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


class Stream:
    """What a server keeps of one stream."""

    def __init__(self, config: dict[str, Any], clock: Clock) -> None:
        self.config, self._clock = config, clock
        self.created_us = clock()
        self.last_seq = 0
        self._kept = dict[int, Kept]()  # in the order of sequences
        self._ids = dict[str, tuple[int, int]]()  # id: sequence, microseconds
        self._newest_id = ""  # of the message stored last

    @property
    def count(self) -> int:
        """Return how many messages are kept."""
        return len(self._kept)

    def takes(self, subject: str) -> bool:
        """Tell whether the stream stores what is published on a subject."""
        return any(matches(pattern, subject) for pattern in self.config["subjects"])

    def info(self) -> dict[str, Any]:
        """Return what ``STREAM.INFO`` answers."""
        self.expire()
        first = next(iter(self._kept), self.last_seq + 1)
        created = _EPOCH + timedelta(microseconds=self.created_us)
        state = {"messages": self.count, "first_seq": first, "last_seq": self.last_seq}
        return {"config": self.config, "created": created.isoformat(), "state": state}

    def store(self, message: Incoming) -> dict[str, Any]:
        """Store a message and return the acknowledgement.

        Raises:
            ApiError: a condition does not hold, or there is no room.
        """
        self.expire()
        if known := self._known(message):
            return {"stream": self.config["name"], "seq": known, "duplicate": True}
        self._demand(message)
        if self.config["discard"] == "new" and self._lacks_room():
            raise ApiError(FULL, "maximum messages exceeded")
        self._add(message)
        while 0 < self.config.get("max_msgs", -1) < self.count or self._is_too_large():
            self.delete(next(iter(self._kept)))
        return {"stream": self.config["name"], "seq": self.last_seq}

    def purge(self, below: int | None) -> int:
        """Remove what precedes a sequence, or all; beyond the end it moves the end."""
        seqs = [seq for seq in self._kept if below is None or seq < below]
        for seq in seqs:
            del self._kept[seq]
        self.last_seq = max(self.last_seq, (below or 0) - 1)
        return len(seqs)

    def delete(self, seq: int) -> bool:
        """Remove one message for good; tell whether it was there."""
        return self._kept.pop(seq, None) is not None

    def roll_back(self, count: int) -> None:
        """Forget the newest messages, as a server does that crashed before it wrote them."""
        for _ in range(min(count, self.last_seq)):
            self.delete(self.last_seq)
            self.last_seq -= 1
        self._ids = {name: at for name, at in self._ids.items() if at[0] <= self.last_seq}
        self._newest_id = next(reversed(self._ids), "")

    def after(self, seq: int) -> Iterator[Kept]:
        """Yield what is kept behind a sequence, in order."""
        first = max(next(iter(self._kept), 1), seq + 1)
        places = range(first, self.last_seq + 1)
        return (self._kept[place] for place in places if place in self._kept)

    def newest(self, pattern: str) -> Kept | None:
        """Return the newest message that is kept on the subjects of a pattern."""
        self.expire()
        every = reversed(self._kept.values())
        return next((record for record in every if matches(pattern, record.subject)), None)

    def newest_with(self, header: str, start: str) -> Kept | None:
        """Return the newest message that is kept whose header begins so."""
        every = reversed(self._kept.values())
        return next(
            (record for record in every if record.headers.get(header, "").startswith(start)), None
        )

    def expire(self) -> None:
        """Remove what has outlived its time."""
        now_us, age_us = self._clock(), self.config.get("max_age", 0) // 1_000
        for record in list(self._kept.values()):
            ends_us = [record.until_us] * bool(record.until_us) + [record.at_us + age_us] * bool(
                age_us
            )
            if min(ends_us, default=now_us + 1) <= now_us:
                self.delete(record.seq)
            elif not self.config.get("allow_msg_ttl"):
                break  # the rest is younger

    def _add(self, message: Incoming) -> None:
        at_us, ttl = self._clock(), message.headers.get("Nats-TTL", "")
        until_us = at_us + int(ttl.removesuffix("s")) * 1_000_000 if ttl else 0
        most = self.config.get("max_msgs_per_subject", -1)
        if most > 0:
            same = [
                record.seq for record in self._kept.values() if record.subject == message.subject
            ]
            for seq in same[: len(same) - most + 1]:
                self.delete(seq)
        self.last_seq += 1
        kept = Kept(self.last_seq, at_us, *message, until_us)
        self._kept[self.last_seq] = kept
        self._newest_id = message.headers.get("Nats-Msg-Id", "")
        if self._newest_id:
            self._ids[self._newest_id] = self.last_seq, at_us

    def _demand(self, message: Incoming) -> None:
        """Hold a message's conditions against the stream's end."""
        expected = message.headers.get("Nats-Expected-Last-Sequence")
        if expected is not None and int(expected) != self.last_seq:
            raise ApiError(WRONG_SEQUENCE, f"wrong last sequence: {self.last_seq}")
        expected = message.headers.get("Nats-Expected-Last-Subject-Sequence")
        newest = self.newest(message.subject) if expected is not None else None
        actual = 0 if newest is None else newest.seq
        if expected is not None and int(expected) != actual:
            raise ApiError(WRONG_SEQUENCE, f"wrong last sequence: {actual}")
        wanted = message.headers.get("Nats-Expected-Last-Msg-Id", self._newest_id)
        if wanted != self._newest_id:
            raise ApiError(WRONG_ID, f"wrong last msg ID: {self._newest_id}")

    def _known(self, message: Incoming) -> int:
        """Return the sequence of the message whose id this one has; 0: none has."""
        window_us = self.config.get("duplicate_window", 0) // 1_000
        seq, at_us = self._ids.get(message.headers.get("Nats-Msg-Id", ""), (0, 0))
        return seq if seq and self._clock() - at_us < window_us else 0

    def _is_too_large(self) -> bool:
        """Tell whether payloads are more than the stream keeps; only small streams are asked."""
        most: int = self.config.get("max_bytes", -1)
        return 0 < most < _COUNTED_BYTES and most < sum(
            len(record.payload) for record in self._kept.values()
        )

    def _lacks_room(self) -> bool:
        most: int = self.config.get("max_msgs", -1)
        return 0 < most <= self.count


def matches(pattern: str, subject: str) -> bool:
    """Tell whether a subject is one of a pattern's: ``*`` is one word, ``>`` all that follow."""
    if pattern == subject:
        return True
    wanted, words = pattern.split("."), subject.split(".")
    for place, word in enumerate(wanted):
        if word == ">":
            return len(words) > place
        if place >= len(words) or word not in ("*", words[place]):
            return False
    return len(words) == len(wanted)
