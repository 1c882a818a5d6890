"""Keys in NATS: leases that end unless written again, and the owner of a cluster's streams.

NATS deletes a lease that is not renewed, by its clock. Where that was ahead and was set back, it
would not for as long: who waits for a lease also counts how long it was not renewed, by itself.

The owner is a key each for the cluster and for the ledger. It is written once, by the first
process, and compared with by all others. So a service configured with another cluster's API server,
another ledger or another bus learns it before it has read or written anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from tidegate.bus.jetstream.wire.requests import WRONG_SEQUENCE_CODE, JetStream, OutgoingMessage
from tidegate.bus.streams import StreamNames
from tidegate.contracts.subjects import token
from tidegate.errors import BusRefusedError, BusUnreachableError

CLUSTER, LEDGER = "cluster", "ledger"
POLL_S = 0.2
SILENT_TTLS = 2
"""Lives of a lease without a renewal, after which another takes it though NATS still has it."""


class NatsLease:
    """``tidegate.bus.ports.Lease`` over JetStream."""

    def __init__(
        self, js: JetStream, names: StreamNames, name: str, *, holder: str, ttl_s: int
    ) -> None:
        assert holder, "an empty value means that the lease is free"
        assert ttl_s >= 1, "NATS counts the life of a message in seconds"
        self._js, self._holder, self._ttl_s = js, holder, ttl_s
        self._stream, self._subject = names.leases, names.lease_subject + token(name)
        self._revision: int | None = None  # of our own newest write, while it stands
        self._unsure = False  # whether our newest write was stored is unknown
        self._theirs = 0, 0.0  # the revision of another's lease, and when it was first seen

    async def try_acquire_or_renew(self) -> bool:
        """See ``tidegate.bus.ports.Lease.try_acquire_or_renew``; a silent bus means no."""
        try:
            if self._revision is not None and await self._write(self._holder, self._revision):
                return True
            free = await self._vacant_revision()
            return free is not None and await self._write(self._holder, free)
        except BusUnreachableError:
            return False

    async def release(self) -> None:
        """See ``tidegate.bus.ports.Lease.release``."""
        with suppress(BusUnreachableError):  # it expires by itself
            revision = await self._own_revision() if self._unsure else self._revision
            if revision is not None:
                await self._write("", revision)
        self._revision = None

    async def _own_revision(self) -> int | None:
        """Return the revision of our own newest write that stands; None: there is none."""
        message = await self._js.newest_message(self._stream, self._subject)
        if message is None or message.data != self._holder.encode():
            return None
        return int((message.headers or {})["Nats-Sequence"])

    async def _vacant_revision(self) -> int | None:
        """Return the revision that a new holder must follow; None while another holds it."""
        message = await self._js.newest_message(self._stream, self._subject)
        if message is None:
            return 0
        revision = int((message.headers or {})["Nats-Sequence"])
        ours_or_free = message.data in (b"", self._holder.encode())
        return revision if ours_or_free or self._is_silent(revision) else None

    def _is_silent(self, revision: int) -> bool:
        """Tell whether another's lease stands unrenewed for longer than its holder believes in it.

        A holder counts its lease as lost before one life without a renewal is over.
        """
        now_s = asyncio.get_running_loop().time()
        if revision != self._theirs[0]:
            self._theirs = revision, now_s
        return now_s - self._theirs[1] > SILENT_TTLS * self._ttl_s

    async def _write(self, value: str, follows: int) -> bool:
        headers = {
            "Nats-Expected-Last-Subject-Sequence": str(follows),
            "Nats-TTL": f"{self._ttl_s}s",
        }
        self._revision, self._unsure = None, True
        try:
            stored = await self._js.publish(OutgoingMessage(self._subject, value.encode(), headers))
        except BusRefusedError as error:
            if error.code != WRONG_SEQUENCE_CODE:
                raise BusUnreachableError(str(error)) from error
            self._unsure = False
            return False
        self._revision, self._unsure = stored.seq, False
        return True


class _Subjects(msgspec.Struct, frozen=True):
    subjects: dict[str, int] | None = None


class _Info(msgspec.Struct, frozen=True):
    state: _Subjects


def ledger_key(partition: int) -> str:
    """Return the key of a partition's ledger."""
    return f"{LEDGER}-{partition}" if partition else LEDGER


class NatsRegister:
    """``tidegate.bus.ports.Register`` over JetStream."""

    def __init__(
        self,
        js: JetStream,
        names: StreamNames,
        patience_s: float,
        ensure: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``ensure`` makes the streams that are missing, as the scheduler may."""
        self._js, self._names, self._patience_s = js, names, patience_s
        self._ensure = ensure

    @property
    def ledger_key(self) -> str:
        """Return the key under which the ledger stands whose events are meant."""
        return ledger_key(self._names.partition)

    async def created_at(self) -> str:
        """See ``tidegate.bus.ports.Register.created_at``."""
        return str((await self._js.existing_stream(self._names.register)).incarnation)

    async def read(self, key: str) -> str:
        """See ``tidegate.bus.ports.Register.read``."""
        message = await self._js.newest_message(self._names.register, self._subject(key))
        return "" if message is None else message.data.decode()

    async def partitions(self) -> tuple[int, ...]:
        """Return the partitions whose ledgers are known here, in order; none claimed one: only 0.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: there is no register yet.
        """
        first = self._subject(LEDGER)
        body = {"subjects_filter": self._names.register_subject + ">"}
        info = await self._js.request(f"STREAM.INFO.{self._names.register}", body, _Info)
        numbers = (
            subject.removeprefix(first).removeprefix("-") or "0"
            for subject in info.state.subjects or ()
            if subject.startswith(first)
        )
        return tuple(sorted(int(number) for number in numbers if number.isdecimal())) or (0,)

    async def claim(self, key: str, value: str) -> str:
        """See ``tidegate.bus.ports.Register.claim``; waits until the scheduler made the stream."""
        assert value, "an empty value means that it is not claimed"
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    try:
                        if standing := await self.read(key):
                            return standing
                        await self._write(key, value, {"Nats-Expected-Last-Subject-Sequence": "0"})
                    except BusUnreachableError:
                        await self._make_missing_stream()
                        await asyncio.sleep(POLL_S)
        except TimeoutError:
            name = self._names.register
            message = f"No scheduler has made the stream {name} yet."
            if await self._js.stream_info(name) is not None:
                message = f"nats-server stores nothing in the stream {name}: restart nats-server."
            raise BusUnreachableError(message) from None

    async def _make_missing_stream(self) -> None:
        """Make the streams again where the register is gone: NATS lost its store meanwhile."""
        with suppress(BusUnreachableError):
            if self._ensure and await self._js.stream_info(self._names.register) is None:
                await self._ensure()

    async def put(self, key: str, value: str) -> None:
        """See ``tidegate.bus.ports.Register.put``."""
        await self._write(key, value, {})

    async def _write(self, key: str, value: str, headers: dict[str, str]) -> None:
        try:
            await self._js.publish(OutgoingMessage(self._subject(key), value.encode(), headers))
        except BusRefusedError as error:
            if error.code != WRONG_SEQUENCE_CODE:  # another was first
                raise BusUnreachableError(str(error)) from error

    def _subject(self, key: str) -> str:
        return self._names.register_subject + key
