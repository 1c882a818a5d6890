"""The owner of one cluster's streams: a key each for the cluster and for the ledger.

A key is written once, by the first process, and compared with by all others. So a service
configured with another cluster's API server, another ledger or another bus learns it before it has
read or written anything.
"""

from __future__ import annotations

import asyncio

import msgspec

from tidegate.bus.jetstream.wire.requests import WRONG_SEQUENCE_CODE, JetStream, Outgoing
from tidegate.bus.streams import Names
from tidegate.errors import BusRefusedError, BusUnreachableError

CLUSTER, LEDGER = "cluster", "ledger"
POLL_S = 0.2


class _Subjects(msgspec.Struct, frozen=True):
    subjects: dict[str, int] | None = None


class _Info(msgspec.Struct, frozen=True):
    state: _Subjects


def ledger_key(partition: int) -> str:
    """Return the key of a partition's ledger."""
    return f"{LEDGER}-{partition}" if partition else LEDGER


class NatsRegister:
    """``tidegate.bus.ports.Register`` over JetStream."""

    def __init__(self, js: JetStream, names: Names, patience_s: float) -> None:
        self._js, self._names, self._patience_s = js, names, patience_s

    @property
    def ledger_key(self) -> str:
        """Return the key under which the ledger stands whose events are meant."""
        return ledger_key(self._names.partition)

    async def made(self) -> str:
        """See ``tidegate.bus.ports.Register.made``."""
        return str((await self._js.existing(self._names.register)).incarnation)

    async def read(self, key: str) -> str:
        """See ``tidegate.bus.ports.Register.read``."""
        message = await self._js.newest(self._names.register, self._subject(key))
        return "" if message is None else message.data.decode()

    async def partitions(self) -> tuple[int, ...]:
        """Return the partitions whose ledgers are known here, in order; none claimed one: only 0.

        Raises:
            BusUnreachableError: no answer.
            BusRefusedError: there is no register yet.
        """
        first = self._subject(LEDGER)
        body = {"subjects_filter": self._names.register_subject + ">"}
        info = await self._js.ask(f"STREAM.INFO.{self._names.register}", body, _Info)
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
                        await asyncio.sleep(POLL_S)
        except TimeoutError:
            message = f"No scheduler has made the stream {self._names.register} yet."
            raise BusUnreachableError(message) from None

    async def put(self, key: str, value: str) -> None:
        """See ``tidegate.bus.ports.Register.put``."""
        await self._write(key, value, {})

    async def _write(self, key: str, value: str, headers: dict[str, str]) -> None:
        try:
            await self._js.store(Outgoing(self._subject(key), value.encode(), headers))
        except BusRefusedError as error:
            if error.code != WRONG_SEQUENCE_CODE:  # another was first
                raise BusUnreachableError(str(error)) from error

    def _subject(self, key: str) -> str:
        return self._names.register_subject + key
