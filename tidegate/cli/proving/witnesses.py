"""Witnesses of a ledger's length: a hash by hand, a signed checkpoint, or the newest of EVENTS.

A chain cannot show that its newest rows were cut off; a witness outside the database can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import typer

from tidegate.cli.nats_options import NatsOptions
from tidegate.cli.progress import announce_wait
from tidegate.cli.proving import checkpoints
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import BusUnreachableError, ForgedEventsError, TidegateError, WitnessError
from tidegate.urls import redacted

if TYPE_CHECKING:
    from tidegate.replay.verify import Witness

HASH_HEX = 64

WitnessedHead: TypeAlias = "Witness | bytes | None"
"""A seq and its hash; or a hash that some entry must bear; None: no witness."""


def signed_claim(
    witness: str, checkpoint: Path | None, public_key: Path | None
) -> checkpoints.Claim | None:
    """Return the claim of a signed file, its signature checked; None: no file is given.

    Raises:
        CheckpointError: the checkpoint's signature does not hold.
    """
    if (checkpoint is None) != (public_key is None):
        raise typer.BadParameter("--checkpoint and --public-key have to be given together.")
    if checkpoint is None or public_key is None:
        return None
    if witness:
        raise typer.BadParameter("Give --witness or --checkpoint, not both.")
    return checkpoints.verify_file(checkpoint, public_key)


def read_witness(
    witness: str, signed: checkpoints.Claim | None, nats: NatsOptions, partition: int = 0
) -> WitnessedHead:
    """Return what was given: a URL of NATS, a hash, SEQ:HASH, or a signed claim; at most one.

    ``partition``: whose EVENTS are asked.

    Raises:
        BadParameter: it is none of these.
        BusUnreachableError: NATS does not answer.
        ForgedEventsError: EVENTS holds what the ledger did not write.
    """
    from tidegate.replay.verify import Witness  # noqa: PLC0415 - only an audit needs the core

    if signed is not None:
        return Witness(seq=signed.seq, hash=bytes.fromhex(signed.hash))
    return _newest_on_bus(witness, nats, partition) if "://" in witness else _parse_witness(witness)


def note_matches(
    entries: Iterable[Entry], anchor: WitnessedHead, matching_seqs: list[int]
) -> Iterator[Entry]:
    """Yield the entries; note in ``matching_seqs`` where one bears the hash that is wanted."""
    for entry in entries:
        if entry.hash == anchor:
            matching_seqs.append(entry.seq)
        yield entry


def require_match(digest: bytes, matching_seqs: list[int], end: int) -> None:
    """Make sure that the hash was met."""
    if not matching_seqs:
        raise WitnessError(f"an entry with hash {digest.hex()}", f"none up to {end}")


def ledger_id_in(entry: Entry) -> str:
    """Return the id that a ledger is given by an entry; empty: it gives none."""
    if entry.type != LedgerOpened.__name__:
        return ""
    event = decode(entry.payload)
    return event.ledger_id if isinstance(event, LedgerOpened) else ""


def _parse_witness(text: str) -> WitnessedHead:
    from tidegate.replay.verify import Witness  # noqa: PLC0415 - only an audit needs the core

    if not text:
        return None
    seq, _, digest = text.rpartition(":")
    try:
        head = bytes.fromhex(digest)
        if len(digest) == HASH_HEX:
            return Witness(seq=int(seq), hash=head) if seq else head
    except ValueError:
        pass
    raise typer.BadParameter(
        f"--witness {text!r} is neither a hash of {HASH_HEX} hexadecimal digits, nor SEQ:HASH, "
        "nor a URL such as nats://127.0.0.1:4222."
    )


def _newest_on_bus(url: str, nats: NatsOptions, partition: int) -> Witness:
    from tidegate.bus.client import connect  # noqa: PLC0415 - only an audit with a bus needs it
    from tidegate.replay.verify import Witness  # noqa: PLC0415 - only an audit needs the core

    async def fetch_witness() -> Witness:
        async with connect(url, partition=partition, **nats._asdict()) as events:
            witness = await events.witness()
        if witness is None:
            raise TidegateError(
                f"EVENTS at {redacted(url)} has no event of cluster {nats.cluster!r} to compare "
                "with."
            )
        if witness.forged:
            raise ForgedEventsError(witness.forged)
        return Witness(seq=witness.seq, hash=witness.hash)

    try:
        import asyncio  # noqa: PLC0415 - a third of what `ledger info` would load

        with announce_wait(f"Waiting for NATS at {redacted(url)} to answer."):
            return asyncio.run(fetch_witness())
    except OSError as error:
        raise BusUnreachableError(f"NATS at {redacted(url)} does not answer: {error}") from error
