"""Bodies of jobs that may be placed, over JetStream: one message a digest in a stream a cluster."""

from __future__ import annotations

from tidegate.bus.jetstream.wire.requests import JetStream, OutgoingMessage
from tidegate.bus.streams import StreamNames, stream_names
from tidegate.contracts import subjects
from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import BusRefusedError, BusUnreachableError


class NatsBodies:
    """``tidegate.bus.ports.BodyWriter`` and ``BodyReader`` over JetStream."""

    def __init__(self, js: JetStream, names: StreamNames) -> None:
        self._js, self._names = js, names

    async def put(self, digest: str, body: bytes) -> None:
        """See ``tidegate.bus.ports.BodyWriter.put``.

        It has no message id: within the window of duplicates a body that was pushed out would not
        be stored again.
        """
        assert len(body) <= BODY_BYTES_MAX
        try:
            await self._js.publish(
                OutgoingMessage(subjects.body_subject(self._names.cluster, digest), body, {})
            )
        except BusRefusedError as error:
            raise BusUnreachableError(str(error)) from error

    async def delete(self, digest: str) -> None:
        """See ``tidegate.bus.ports.BodyWriter.delete``.

        An empty message replaces the body and expires after a second: a user that may store bodies
        needs no right to purge the stream.
        """
        subject = subjects.body_subject(self._names.cluster, digest)
        try:
            await self._js.publish(OutgoingMessage(subject, b"", {"Nats-TTL": "1s"}))
        except BusRefusedError as error:
            raise BusUnreachableError(str(error)) from error

    async def read(self, cluster: str, digest: str) -> bytes | None:
        """See ``tidegate.bus.ports.BodyReader.read``."""
        stream = stream_names(cluster).bodies
        message = await self._js.newest_on_subject(stream, subjects.body_subject(cluster, digest))
        return message.data if message is not None and message.data else None
