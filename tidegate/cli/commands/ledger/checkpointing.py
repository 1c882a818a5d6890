"""``tidegate ledger checkpoint``, ``prove`` and ``keygen``: sign a ledger's head, prove events."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from tidegate.cli.commands.ledger.copying import refuse_existing
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.nats_options import (
    BusCaOption,
    BusCredentialsOption,
    ClusterOption,
    NatsOptions,
    nats_options,
)
from tidegate.cli.output import print_message
from tidegate.cli.progress import until_interrupted
from tidegate.cli.proving import bucket, checkpoints
from tidegate.cli.proving.checkpoints import Claim
from tidegate.cli.proving.claims import make_claim
from tidegate.cli.proving.publishing import publish_checkpoint as published
from tidegate.cli.times import parse_age
from tidegate.urls import redacted

_NAME = "checkpoint-{:020}.json"
_SECOND_US = 1_000_000
_READ_ONLY = 0o444


class CheckpointOptions(NamedTuple):
    """The signing key, and the destinations of a checkpoint beside its file."""

    key: Path
    ledger: str
    publish: str  # a URL of NATS or a bucket; empty: nowhere
    retain_us: int  # in a bucket
    nats: NatsOptions
    partition: int | None  # of the first checkpoint; a later one is of the earlier one's


def checkpoint(  # noqa: PLR0913 - each is an option
    key: Annotated[Path, typer.Option(help="The private key, from `tidegate ledger keygen`.")],
    out: Annotated[Path | None, typer.Option(help="The new file for the checkpoint.")] = None,
    *,
    after: Annotated[
        Path | None,
        typer.Option(help="The previous checkpoint, from which the command continues."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="Or a folder with the previous checkpoints: one file for each."),
    ] = None,
    every: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="Keep running and write a checkpoint this often: 1h. Needs --into.",
        ),
    ] = "",
    publish: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help=(
                "Also store it at this nats:// URL, in a stream with "
                "tidegate.CLUSTER.checkpoint, or s3://BUCKET/PREFIX."
            ),
        ),
    ] = "",
    retain: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="The time for which the bucket must lock each checkpoint: 3650d.",
        ),
    ] = "",
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    partition: OnePartitionOption = None,
    ledger: LedgerOption = "",
) -> None:
    """Sign the seq and hash of the ledger's last entry, for an auditor to keep.

    The chain is checked from its first entry, or from the checkpoint before: nothing is signed that
    does not hold. Each one names the one before, so that none can be taken away or made again
    unseen, and has the root of a tree over all turns, for `ledger prove`. Let --into be where the
    database's administrators cannot delete, such as another machine's disk. With --publish each one
    is stored elsewhere before it is written: in a stream of NATS, of another account, which denies
    deleting; or in an S3 bucket, whose object lock denies it to all for as long as --retain
    says.

    Examples:
      tidegate ledger checkpoint --key audit.key --out 2026-03-31.json

      tidegate ledger checkpoint --key audit.key --after 2026-03-31.json --out 2026-04-30.json

      tidegate ledger checkpoint --key audit.key --into /worm/checkpoints --every 1h

      tidegate ledger checkpoint --key audit.key --into checkpoints --publish nats://audit:4222

      tidegate ledger checkpoint --key audit.key --into kept --publish s3://audit --retain 3650d

      tidegate ledger verify --checkpoint 2026-03-31.json --public-key audit.key.pub
    """
    if (out is None) == (into is None) or (after and out is None) or (every and into is None):
        raise typer.BadParameter(
            "Give --out (and optionally --after), or --into (and optionally --every)."
        )
    how = nats_options(cluster, bus_credentials, bus_ca)
    signed = CheckpointOptions(key, ledger, publish, _retention_us(publish, retain), how, partition)
    if out is not None:
        refuse_existing(out)
        _write_checkpoint(out, signed, _read_claim(after, key))
        return
    assert into is not None, "one of both"
    pause_us = parse_age(every) if every else 0
    if pause_us is None or (every and pause_us < _SECOND_US):
        raise typer.BadParameter(f"--every {every!r} is not a duration such as 1h or 15m.")
    with until_interrupted():
        _write_next(into, signed)
        while pause_us:
            time.sleep(pause_us / _SECOND_US)
            _write_next(into, signed)


def keygen(out: Annotated[Path, typer.Option(help="The new file for the private key.")]) -> None:
    """Create a key pair for checkpoints: FILE for its owner only, FILE.pub for auditors.

    Examples:
      tidegate ledger keygen --out audit.key
    """
    refuse_existing(out)
    refuse_existing(out.with_name(f"{out.name}.pub"))
    print_message(f"Keep {out} secret, and give {checkpoints.generate_key(out)} to auditors.")


def prove(
    seq: Annotated[int, typer.Argument(help="The event's seq.", min=1)],
    checkpoint_file: Annotated[
        Path, typer.Option("--checkpoint", help="The checkpoint that includes the event.")
    ],
    out: Annotated[Path, typer.Option(help="The new file for the proof.")],
    ledger: LedgerOption = "",
) -> None:
    """Write a proof that a checkpoint includes an event, for readers without the ledger.

    The proof has the rows of the event's turn, a path through the tree of turns, and nothing else
    of the ledger. docs/ledger.md explains how to check a proof; docs/examples/verify is a program
    that does.

    Examples:
      tidegate ledger prove 43 --checkpoint march.json --out preempted.json
    """
    from tidegate.cli.proving.proofs import make_proof  # noqa: PLC0415 - only this command proves

    refuse_existing(out)
    checkpoint = checkpoints.read_checkpoint(checkpoint_file)
    with open_reader(ledger, partition=checkpoint.claim.partition, reports=False) as reader:
        proof = make_proof(reader, seq, checkpoint)
    out.write_bytes(msgspec.json.format(msgspec.json.encode(proof)) + b"\n")
    print_message(
        f"{out} proves seq {seq}, of {len(proof.rows)} in its turn, by {len(proof.path)} hashes."
    )


def _retention_us(publish: str, retain: str) -> int:
    """Return for how long a bucket locks what it keeps; 0: it goes to no bucket."""
    if not publish.startswith(f"{bucket.SCHEME}://"):
        if retain:
            raise typer.BadParameter("--retain needs --publish s3://BUCKET/PREFIX.")
        return 0
    retain_us = parse_age(retain) if retain else None
    if not retain_us:
        raise typer.BadParameter(
            f"A bucket needs --retain DURATION, such as 3650d, not {retain!r}."
        )
    return retain_us


def _write_next(folder: Path, signed: CheckpointOptions) -> None:
    """Write a folder's next checkpoint; nothing if the ledger is no longer than its last one."""
    folder.mkdir(parents=True, exist_ok=True)
    before = max(folder.glob(_NAME.format(0).replace("0" * 20, "[0-9]" * 20)), default=None)
    _write_checkpoint(folder / _NAME, signed, _read_claim(before, signed.key))


def _read_claim(file: Path | None, key: Path) -> Claim | None:
    return (
        None
        if file is None
        else checkpoints.verify_own(checkpoints.read_checkpoint(file), key, str(file))
    )


def _write_checkpoint(out: Path, signed: CheckpointOptions, earlier: Claim | None) -> None:
    if earlier is not None and signed.partition not in {None, earlier.partition}:
        raise typer.BadParameter(
            f"The previous checkpoint is of partition {earlier.partition}, not of "
            f"{signed.partition}: give each partition its own folder."
        )
    partition = signed.partition if earlier is None else earlier.partition
    with open_reader(signed.ledger, partition=partition, reports=False) as reader:
        claim = make_claim(single_partition(reader, "ledger checkpoint"), earlier)
    if earlier is not None and claim.seq == earlier.seq:
        print_message(f"No new events since seq {claim.seq}: no checkpoint is written.")
        return
    file = out.with_name(out.name.format(claim.seq)) if out.name == _NAME else out
    data = checkpoints.sign_claim(claim, signed.key)
    if signed.retain_us:
        place = bucket.store_checkpoint(
            data, signed.publish, _NAME.format(claim.seq), signed.retain_us
        )
        print_message(f"Stored at {redacted(signed.publish)} as {place}.")
    elif signed.publish:
        message = published(data, sha256(data).hexdigest(), signed.publish, signed.nats)
        print_message(f"Stored at {redacted(signed.publish)} as message {message}.")
    with file.open("xb") as stream:
        stream.write(data)
    file.chmod(_READ_ONLY)
    print_message(f"{file} signs {claim.seq} events: {claim.hash}")
