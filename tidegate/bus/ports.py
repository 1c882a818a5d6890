"""Ports of the services to the bus and the database; each has a real and a simulated form.

Each docstring is the contract that one suite holds every form to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

from tidegate.contracts.entry import Entry, Message, Position, Positions, Published, Term


class ObservationPublisher(Protocol):
    """ingest's and the actuator's side of OBSERVATIONS."""

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        """Store one message; wait while the stream is full. A retry under one id stores it once.

        Calls made at the same time are stored in the order of the calls, and share a round trip:
        a caller with many messages starts many calls and awaits them together. If one raises, those
        behind it may have been stored.

        Raises:
            BusUnreachableError: the bus did not answer within the port's patience.
        """

    def resync_requests(self) -> AsyncIterator[str]:
        """Yield each reason to publish everything again: a request, or a bus that may have lost.

        What a server had not written to its disk is gone after a crash, and what a publisher sent
        may have been the newest of it. So a connection that comes back is such a reason.
        """
        ...


class ObservationReader(Protocol):
    """The stream OBSERVATIONS, read by position; nothing is acknowledged."""

    async def start_position(self) -> Position:
        """Return behind which position a reader begins that has read nothing yet.

        It is the end: a ledger that is lost may have read here, and messages that are kept precede
        its last decisions. Position 0 while there is none.

        Raises:
            BusUnreachableError: the bus does not answer.
        """
        ...

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        """Return up to ``count_max`` messages that follow ``after``; wait at most ``wait_s``.

        If the stream is another incarnation than ``after`` names, they follow its beginning. After
        a fault some may come again, too early or not at all: the core checks the order.

        Raises:
            BusUnreachableError: the bus does not answer.
        """
        ...

    async def purge_through(self, position: Position) -> None:
        """Purge everything up to and with ``position`` of that very incarnation, to free space.

        Raises:
            BusUnreachableError: the bus does not answer.
        """

    async def request_resync(self, reason: str) -> None:
        """Request a full resync from every ingest."""


class EventPublisher(Protocol):
    """The stream EVENTS: every entry of the ledger, in order, without a hole."""

    async def last_published(self, position: Position) -> tuple[int, Position]:
        """Return the newest published ledger seq (0: none), and how EVENTS counts from now on.

        ``position`` and the position returned are EVENTS' incarnation and its stream sequence minus
        the ledger seq. A stream of another incarnation begins after the ledger's current end.

        Raises:
            BusUnreachableError: the bus does not answer.
        """
        ...

    async def message_at(self, counts: Position, seq: int) -> Published | None:
        """Return the message of EVENTS at the place of a ledger seq; None: there is none any more.

        What is no event at all is of the ledger "".

        Raises:
            BusUnreachableError: the bus does not answer.
        """
        ...

    async def message_count(self) -> int:
        """Return how many messages EVENTS holds now: older ones were dropped, or lost.

        Raises:
            BusUnreachableError: the bus does not answer.
        """
        ...

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        """Publish entries in order; each is stored only right behind the one before.

        Raises:
            PublishRefusedError: the stream ended elsewhere; the first few may be stored.
            BusUnreachableError: the bus does not answer; the first few, or all, may be stored.
        """


class Ledger(Protocol):
    """The source of truth, appended by one writer. Synchronous: called in a thread of its own."""

    def begin_term(self, holder: str, lease_us: int) -> Term | None:
        """Begin a term, which fences out every other; None while another holder's lease runs.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        ...

    def renew_term(self, epoch: int, lease_us: int) -> None:
        """Prolong the lease of a term.

        Raises:
            FencedError: a newer term has begun.
        """

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        """Write entries, if any, after seq ``after``, and positions and reports: one transaction.

        Raises:
            FencedError: ``epoch`` is not the newest; nothing was written.
            SequenceConflictError: the ledger does not end at ``after``; nothing was written.
            CommitUnknownError: the answer to the commit was lost.
            LedgerUnreachableError: the database does not answer; nothing was written.
        """

    def purge_limit(self, position: Position) -> Position:
        """Return up to where OBSERVATIONS can be purged: this position, or another partition's.

        Those count whose scheduler holds its lease; of another incarnation, nothing is purged.

        Raises:
            LedgerUnreachableError: the database does not answer.
        """
        ...

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, in constant memory."""
        ...


class EventFeed(Protocol):
    """EVENTS as the actuator and other subscribers read it."""

    async def newest(self) -> tuple[str, int]:
        """Return the ledger id and the seq of the newest entry; ("", 0) if EVENTS holds none.

        Raises:
            BusUnreachableError: the bus does not answer within the port's patience.
        """
        ...

    def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        """Yield entries in order, from the one after ledger seq ``after``; None: only new ones.

        What EVENTS retained begins where it begins: a hole is seen as a hole in ``seq``. When the
        stream was made anew its entries follow from its beginning. A lost connection is waited
        for. Entries that come again, after a reconnection or because EVENTS was filled again, are
        yielded once.

        Raises:
            BusUnreachableError: the bus does not answer within the port's patience.
        """
        ...


class Register(Protocol):
    """The owners of a cluster's streams, its ledgers and its uid: keys that are written once."""

    async def created_at(self) -> str:
        """Return when the register was made, UTC microseconds: another register is another bus.

        Raises:
            BusUnreachableError: no answer, or there is none.
        """
        ...

    async def read(self, key: str) -> str:
        """Return the value of a key; empty: it is not claimed.

        Raises:
            BusUnreachableError: no answer, or there is no register.
        """
        ...

    async def claim(self, key: str, value: str) -> str:
        """Write a key's value if it has none, and return the value that it has now.

        Raises:
            BusUnreachableError: no answer within the port's patience.
        """
        ...

    async def put(self, key: str, value: str) -> None:
        """Overwrite the value: the ledger goes on under another name.

        Raises:
            BusUnreachableError: no answer.
        """


class BodyWriter(Protocol):
    """ingest's side of BODIES: the bodies of its cluster's jobs that may be placed elsewhere."""

    async def put(self, digest: str, body: bytes) -> None:
        """Store a body of at most ``BODY_BYTES_MAX`` bytes under its SHA-256 in hexadecimal digits.

        What is stored already is stored anew, as the newest; of many the oldest are dropped.

        Raises:
            BusUnreachableError: no answer: it may be stored or not.
        """

    async def delete(self, digest: str) -> None:
        """Remove what is stored under a digest, if anything is.

        Raises:
            BusUnreachableError: no answer: it may be stored still.
        """


class BodyReader(Protocol):
    """The side of BODIES of an actuator that makes a copy."""

    async def read(self, cluster: str, digest: str) -> bytes | None:
        """Return what a cluster stored under a digest, unchecked; None: there is nothing.

        Raises:
            BusUnreachableError: no answer, or the cluster has no such stream.
        """
        ...


class Lease(Protocol):
    """One active actuator a shard; losing it may cost work twice, never correctness."""

    async def try_acquire_or_renew(self) -> bool:
        """Acquire or renew the lease; return whether this process holds it now."""
        ...

    async def release(self) -> None:
        """Give it up, if it is ours."""
