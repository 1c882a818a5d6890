"""Checkpoints in a NATS stream of another account, where operators of the ledger cannot delete."""

from __future__ import annotations

from tidegate.cli.nats_options import NatsOptions
from tidegate.contracts.subjects import token
from tidegate.errors import BusUnreachableError
from tidegate.urls import redacted

CONNECT_S = 10.0


def checkpoint_subject(cluster: str) -> str:
    """Return the subject that a cluster's checkpoints are published on."""
    return f"tidegate.{token(cluster)}.checkpoint"


def publish_checkpoint(data: bytes, digest: str, url: str, nats: NatsOptions) -> int:
    """Publish a checkpoint to the stream of a cluster's checkpoints; return its sequence there.

    One that it has already, by its digest, is not stored twice as long as the stream remembers.

    Raises:
        BusUnreachableError: NATS does not answer, or no stream takes the subject.
        BusRefusedError: the stream takes no more.
    """
    import asyncio  # noqa: PLC0415 - only publishing needs it

    from tidegate.bus.jetstream.connection import open_bus  # noqa: PLC0415

    async def store() -> int:
        async with open_bus(url, name="checkpoint", patience_s=CONNECT_S, **nats._asdict()) as bus:
            return await bus.publish(checkpoint_subject(nats.cluster), data, digest)

    try:
        return asyncio.run(store())
    except BusUnreachableError as error:
        raise BusUnreachableError(
            f"No stream at {redacted(url)} says that it keeps {checkpoint_subject(nats.cluster)}, "
            f"so the checkpoint is not written either: {error}"
        ) from error
