"""A lease in NATS KV: one key, whose value expires unless its holder writes it again."""

from __future__ import annotations

from contextlib import suppress

from tidegate.bus.jetstream.wire.requests import WRONG_SEQUENCE_CODE, JetStream, Outgoing
from tidegate.bus.streams import Names
from tidegate.contracts.messages.subjects import token
from tidegate.errors import BusRefusedError, BusUnreachableError


class NatsLease:
    """``tidegate.bus.ports.Lease`` over JetStream."""

    def __init__(self, js: JetStream, names: Names, name: str, *, holder: str, ttl_s: int) -> None:
        assert holder, "an empty value means that the lease is free"
        assert ttl_s >= 1, "NATS counts the life of a message in seconds"
        self._js, self._holder, self._ttl_s = js, holder, ttl_s
        self._stream, self._subject = names.leases, names.lease_subject + token(name)
        self._revision: int | None = None  # of our own newest write, while it stands
        self._unsure = False  # whether our newest write was stored is unknown

    async def hold(self) -> bool:
        """See ``tidegate.bus.ports.Lease.hold``; a silent bus means no."""
        try:
            if self._revision is not None and await self._write(self._holder, self._revision):
                return True
            free = await self._free_at()
            return free is not None and await self._write(self._holder, free)
        except BusUnreachableError:
            return False

    async def release(self) -> None:
        """See ``tidegate.bus.ports.Lease.release``."""
        with suppress(BusUnreachableError):  # it expires by itself
            revision = await self._ours_at() if self._unsure else self._revision
            if revision is not None:
                await self._write("", revision)
        self._revision = None

    async def _ours_at(self) -> int | None:
        """Return the revision of our own newest write that stands; None: there is none."""
        message = await self._js.newest(self._stream, self._subject)
        if message is None or message.data != self._holder.encode():
            return None
        return int((message.headers or {})["Nats-Sequence"])

    async def _free_at(self) -> int | None:
        """Return the revision that a new holder must follow; None while another holds it."""
        message = await self._js.newest(self._stream, self._subject)
        if message is None:
            return 0
        ours_or_nobodys = message.data in (b"", self._holder.encode())
        return int((message.headers or {})["Nats-Sequence"]) if ours_or_nobodys else None

    async def _write(self, value: str, follows: int) -> bool:
        headers = {
            "Nats-Expected-Last-Subject-Sequence": str(follows),
            "Nats-TTL": f"{self._ttl_s}s",
        }
        self._revision, self._unsure = None, True
        try:
            stored = await self._js.store(Outgoing(self._subject, value.encode(), headers))
        except BusRefusedError as error:
            if error.code != WRONG_SEQUENCE_CODE:
                raise BusUnreachableError(str(error)) from error
            self._unsure = False
            return False
        self._revision, self._unsure = stored.seq, False
        return True
