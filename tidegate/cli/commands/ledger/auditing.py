"""``tidegate ledger verify``: what an auditor asks for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.archive import archive_ranges
from store.archive.archive_format import sha256_of
from store.reading.about import newest_reference_behind
from tidegate.cli.ledger.partitions import PartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.nats_options import BusCaOption, BusCredentialsOption, ClusterOption, nats_options
from tidegate.cli.output import (
    Column,
    Output,
    OutputOption,
    print_message,
    print_record,
    print_records,
)
from tidegate.cli.proving import checkpoints
from tidegate.cli.proving.checkpoints import Claim
from tidegate.cli.proving.claims import entry_of_claim
from tidegate.cli.proving.witnesses import (
    WitnessedHead,
    note_matches,
    read_witness,
    require_match,
    signed_claim,
)
from tidegate.cli.times import utc
from tidegate.errors import (
    ChainError,
    LedgerUnreachableError,
    TidegateError,
    UndecodableError,
    WitnessError,
)

if TYPE_CHECKING:
    from tidegate.contracts.entry import Entry
    from tidegate.core.state.state import State
    from tidegate.replay.verify import Audit

_FIELDS = ("events", "turns", "terms", "decisionsTakenAgain", "headSeq", "headHash", "headAt")
_PARTITIONS = (
    Column("PARTITION", "partition", right=True),
    Column("HOLDS", "holds"),
    Column("EVENTS", "events", right=True),
    Column("TURNS", "turns", right=True),
    Column("TAKEN AGAIN", "decisionsTakenAgain", right=True),
    Column("HEAD AT", "headAt"),
    Column("HEAD HASH", "headHash"),
    Column("ERROR", "error"),
)


def verify(  # noqa: PLR0913 - each is an option
    witness: Annotated[
        str,
        typer.Option(
            envvar="TIDEGATE_WITNESS",
            help=(
                "The expected hash of the last row or an earlier one: a hash, SEQ:HASH, "
                "or the nats:// URL of EVENTS."
            ),
        ),
    ] = "",
    *,
    checkpoint: Annotated[
        Path | None, typer.Option(help="The same, from a signed checkpoint file.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="The public key of the signer of --checkpoint or --after.")
    ] = None,
    after: Annotated[
        Path | None,
        typer.Option(help="Verify only the events after this checkpoint; needs --public-key."),
    ] = None,
    redecide: Annotated[
        bool, typer.Option(help="Take every decision again, or check only the chain.")
    ] = True,
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    partition: PartitionOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Verify that no event was changed and that every decision can be repeated.

    The command checks the hash of every row, folds the ledger from its first event, takes every
    decision again, and prints the first seq that differs. A hash chain cannot show that its newest
    rows were deleted: pass a witness from outside the database. Each partition is verified and has
    its own line; a hash or a checkpoint is of one. The exit code is 1 if a check fails.

    Examples:
      tidegate ledger verify

      tidegate ledger verify --witness nats://127.0.0.1:4222

      tidegate ledger verify --witness tls://tidegate_local_reader:PASSWORD@nats

      tidegate ledger verify --witness 41:9f86d081884c7d65… --ledger /backup/ledger.db

      tidegate ledger verify --checkpoint march.json --public-key audit.key.pub

      tidegate ledger verify --after march.json --public-key audit.key.pub
    """
    if after is not None:
        if checkpoint is not None or public_key is None:
            raise typer.BadParameter(
                "--after needs --public-key and cannot be combined with --checkpoint."
            )
        claim, signed = checkpoints.verify_file(after, public_key), None
    else:
        claim, signed = None, signed_claim(witness, checkpoint, public_key)
    how = nats_options(cluster, bus_credentials, bus_ca)
    number = _claimed_partition(claim or signed, partition)
    with open_reader(ledger, partition=number, reports=False) as opened:
        is_hash = bool(witness) and "://" not in witness
        every = single_partition(opened, "ledger verify --witness") if is_hash else opened
        numbers = [reader.partition for reader in every.partition_readers()]
    records = list[dict[str, Any]]()
    for each in numbers:
        # Before the ledger is opened: what a scheduler writes meanwhile is no lost tail.
        anchor = read_witness(witness, signed, how, each)
        with open_reader(ledger, partition=each, reports=False) as reader:
            several = len(numbers) > 1
            records.append(
                _verify_partition(reader, anchor, claim, redecide=redecide, several=several)
            )
    _print_audits(records, output)
    _print_uncovered(claim, redecide=redecide, has_end=bool(witness) or checkpoint is not None)
    if not all(record["holds"] for record in records):
        raise typer.Exit(1)


def _claimed_partition(claim: Claim | None, partition: int | None) -> int | None:
    """Return the partition that is asked about: that of a checkpoint, if one is given."""
    if claim is None:
        return partition
    if partition not in {None, claim.partition}:
        raise typer.BadParameter(
            f"The checkpoint is of partition {claim.partition}, not of {partition}."
        )
    return claim.partition


def _print_audits(records: list[dict[str, Any]], output: Output) -> None:
    if len(records) == 1:
        print_record(records[0], output, name="headHash")
    else:
        print_records(records, _PARTITIONS, output, name="headHash")


def _print_uncovered(claim: Claim | None, *, redecide: bool, has_end: bool) -> None:
    print_message(
        "Not covered: reports, views, snapshots and archives' digests (tidegate reports verify)."
    )
    if claim is not None:
        message = ", nor the state kept there" if redecide else ""
        print_message(
            f"Not covered: events up to seq {claim.seq}, which the checkpoint covers{message}."
        )
    elif not has_end:
        print_message(
            "Not covered: deletion of the newest rows with all traces of them "
            "(--witness or --checkpoint)."
        )


def _verify_partition(
    reader: Reader, anchor: WitnessedHead, claim: Claim | None, *, redecide: bool, several: bool
) -> dict[str, Any]:
    """Return what a partition's audit found; where there are several, also that it failed."""
    witness = "none given" if anchor is None and claim is None else "holds"
    place = {"partition": reader.partition} if several else {}
    try:
        with name_damaged_archives(reader):
            begun = None if claim is None else _audit_start(reader, claim, redecide=redecide)
            audit = _run_audit(reader, anchor, begun, redecide=redecide)
            refuse_truncated_ledger(reader, audit.head_seq)
    except TidegateError as error:
        if not several:
            raise
        return {**dict.fromkeys(_FIELDS), "holds": False, **place, "error": str(error)}
    fields = {**_audit_record(audit, redecide=redecide), "witness": witness}
    failed = {"error": ""} if several else {}
    return {"holds": True, "ledger": reader.url, **place, **fields, **failed}


def _audit_start(reader: Reader, claim: Claim, *, redecide: bool) -> tuple[State, Entry]:
    """Return from where on a ledger is audited behind a checkpoint.

    Decisions are taken again from the newest state that is kept up to there, if there is one.
    """
    from tidegate.core.state.state import State  # noqa: PLC0415 - only an audit needs the core

    entry = entry_of_claim(reader, claim)
    return reader.start_state(claim.seq) if redecide else (State(), entry)


def _run_audit(
    reader: Reader, anchor: WitnessedHead, begun: tuple[State, Entry] | None, *, redecide: bool
) -> Audit:
    from tidegate.replay.verify import audit_ledger as audit  # noqa: PLC0415 - only an audit needs the core

    entries = reader.entries("verifying", 0 if begun is None else begun[1].seq)
    if not isinstance(anchor, bytes):
        return audit(entries, witness=anchor, redecide=redecide, begun=begun)
    met = list[int]()
    result = audit(note_matches(entries, anchor, met), redecide=redecide, begun=begun)
    require_match(anchor, met, result.head_seq)
    return result


def _audit_record(audit: Audit, *, redecide: bool) -> dict[str, Any]:
    return {
        "events": audit.events,
        "turns": audit.turns,
        "terms": audit.epochs,
        "decisionsTakenAgain": audit.decisions if redecide else None,
        "headSeq": audit.head_seq,
        "headHash": audit.head_hash.hex(),
        "headAt": utc(audit.at_us),
    }


def refuse_truncated_ledger(reader: Reader, end: int) -> None:
    """Make sure that nothing in the database tells of events behind the end that was read.

    A scheduler may write meanwhile: what it wrote is there, and is not cut off.
    """
    if reader.database is None:
        return
    later = newest_reference_behind(reader.database.select, reader.partition, end)
    if later is not None and not list(reader.ledger.read(later.seq - 1, later.seq)):
        raise WitnessError(
            f"an entry with seq {later.seq}, which {later.table} tells of", f"the end at {end}"
        )


@contextmanager
def name_damaged_archives(reader: Reader) -> Generator[None]:
    """Name the archives to blame when the body finds that the history does not verify."""
    try:
        yield
    except (ChainError, UndecodableError):
        for message in _damaged_archives(reader):
            print_message(message)
        raise


def _damaged_archives(reader: Reader) -> list[str]:
    if reader.database is None:
        return []
    parts = archive_ranges.archived_ranges(reader.database.select, reader.partition)
    messages = list[str]()
    for part in parts:
        try:
            same = sha256_of(part.path()) == part.digest
        except LedgerUnreachableError as error:
            messages.append(str(error))
            continue
        if not same:
            messages.append(
                f"{part.file} is not what was archived: it held the events {part.first_seq} to "
                f"{part.seq}, and its SHA-256 was {part.digest}. Put a right copy in its place."
            )
    return messages
