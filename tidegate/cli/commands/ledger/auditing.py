"""``tidegate ledger verify``, ``checkpoint`` and ``keygen``: what an auditor asks for and keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.cli.commands.ledger.copying import refuse_existing
from tidegate.cli.ledger import checkpoints
from tidegate.cli.ledger.claims import claim_of
from tidegate.cli.ledger.losses import naming_archives, refuse_cut
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.ledger.witnesses import Outside, noting, outside, refuse_unmet
from tidegate.cli.nats_options import (
    BusCaOption,
    BusCredentialsOption,
    ClusterOption,
    joining,
)
from tidegate.cli.output import Output, OutputOption, print_record, say
from tidegate.cli.times import utc
from tidegate.replay.verify import Audit
from tidegate.replay.verify import verify as audit


def verify(  # noqa: PLR0913 - each is an option
    witness: Annotated[
        str,
        typer.Option(
            envvar="TIDEGATE_WITNESS",
            help="What the head must be, or have been: a hash, SEQ:HASH, or the nats:// URL whose "
            "newest event says it.",
        ),
    ] = "",
    *,
    checkpoint: Annotated[
        Path | None, typer.Option(help="The same, from a file that was signed.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="Who must have signed --checkpoint.")
    ] = None,
    redecide: Annotated[
        bool, typer.Option(help="Take every decision again, or check the chain only.")
    ] = True,
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Prove that the history was not altered and that deciding again gives the same.

    Checks the hash of every row, folds the ledger from its first event, takes every decision
    again, and names the first seq that differs. A chain cannot show that its newest rows were cut
    off: give a witness from outside the database. Exits with 1 if anything does not hold.

    Examples:
      tidegate ledger verify

      tidegate ledger verify --witness nats://127.0.0.1:4222

      tidegate ledger verify --witness tls://tidegate_local_reader:PASSWORD@nats

      tidegate ledger verify --witness 41:9f86d081884c7d65… --ledger /backup/ledger.db

      tidegate ledger verify --checkpoint march.json --public-key audit.key.pub
    """
    wanted = outside(witness, checkpoint, public_key, joining(cluster, bus_credentials, bus_ca))
    with open_reader(ledger, reports=False) as reader, naming_archives(reader):
        found = _audit(reader, wanted, redecide=redecide)
        refuse_cut(reader, found.head_seq)
        record = {"holds": True, "ledger": reader.url, **_record(found, redecide=redecide)}
    record["witness"] = "none given" if wanted is None else "holds"
    print_record(record, output, name="headHash")
    say("Not covered: reports, views, snapshots and archives' digests (tidegate reports verify).")
    if wanted is None:
        say(
            "Not covered: whether newest rows were cut off, and all that tells of them "
            "(--witness or --checkpoint)."
        )


def checkpoint(
    key: Annotated[Path, typer.Option(help="The private key, from `tidegate ledger keygen`.")],
    out: Annotated[Path, typer.Option(help="Where to write the checkpoint; must not exist.")],
    ledger: LedgerOption = "",
) -> None:
    """Sign how far the ledger goes and the hash of its last entry, for an auditor to keep.

    The chain is checked from its first entry: nothing is signed that does not hold. Who keeps the
    file and the public key can prove later that nothing up to there was changed or cut off.

    Examples:
      tidegate ledger checkpoint --key audit.key --out 2026-03-31.json

      tidegate ledger verify --checkpoint 2026-03-31.json --public-key audit.key.pub
    """
    refuse_existing(out)
    with open_reader(ledger, reports=False) as reader:
        claim = claim_of(reader)
    out.write_bytes(checkpoints.sign(claim, key))
    say(f"{out} vouches for {claim.seq} events: {claim.hash}")


def keygen(
    out: Annotated[Path, typer.Option(help="The private key's file; must not exist.")],
) -> None:
    """Make a key pair for checkpoints: FILE for its owner only, FILE.pub for auditors.

    Examples:
      tidegate ledger keygen --out audit.key
    """
    refuse_existing(out)
    refuse_existing(out.with_name(f"{out.name}.pub"))
    say(f"{out} signs, {checkpoints.make_key(out)} proves.")


def _audit(reader: Reader, wanted: Outside, *, redecide: bool) -> Audit:
    entries = reader.entries("verifying")
    if not isinstance(wanted, bytes):
        return audit(entries, witness=wanted, redecide=redecide)
    met = list[int]()
    found = audit(noting(entries, wanted, met), redecide=redecide)
    refuse_unmet(wanted, met, found.head_seq)
    return found


def _record(found: Audit, *, redecide: bool) -> dict[str, Any]:
    return {
        "events": found.events,
        "turns": found.turns,
        "terms": found.epochs,
        "decisionsTakenAgain": found.decisions if redecide else None,
        "headSeq": found.head_seq,
        "headHash": found.head_hash.hex(),
        "headAt": utc(found.at_us),
    }
