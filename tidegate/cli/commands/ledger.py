"""``tidegate ledger``: audit it, look at it, make one to try things on, bring its schema on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.cli.commands.copying import backup, export
from tidegate.cli.commands.recover import recover
from tidegate.cli.output import Output, OutputOption, print_record, say
from tidegate.cli.reading import LedgerOption, Reader, open_reader
from tidegate.cli.times import utc
from tidegate.contracts.entry import Entry
from tidegate.errors import BusUnreachableError, TidegateError, WitnessError
from tidegate.replay.verify import Audit, Witness
from tidegate.replay.verify import verify as audit

app = typer.Typer(
    help="The ledger itself: audit it, look at it, try one, bring its schema on.",
    no_args_is_help=True,
)
app.command("recover")(recover)
app.command("export")(export)
app.command("backup")(backup)
HASH_HEX = 64


@app.command("verify")
def verify(
    witness: Annotated[
        str,
        typer.Option(
            help="What the head must be, or have been: a hash, SEQ:HASH, or the nats:// URL whose "
            "newest event says it.",
        ),
    ] = "",
    *,
    redecide: Annotated[
        bool, typer.Option(help="Take every decision again, or check the chain only.")
    ] = True,
    cluster: Annotated[
        str, typer.Option(help="Whose events the bus of --witness holds.")
    ] = "local",
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

      tidegate ledger verify --witness 41:9f86d081884c7d65… --ledger /backup/ledger.db
    """
    outside = _from_the_bus(witness, cluster) if "://" in witness else _read_witness(witness)
    with open_reader(ledger, reports=False) as reader:
        found = _audit(reader, outside, redecide=redecide)
        record = {"holds": True, "ledger": reader.url, **_record(found, redecide=redecide)}
    record["witness"] = "none given" if outside is None else "holds"
    print_record(record, output, name="headHash")


@app.command("info")
def info(ledger: LedgerOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show how long a ledger is, who writes it, and where its head is.

    Examples:
      tidegate ledger info

      tidegate ledger info -o json
    """
    with open_reader(ledger) as reader:
        print_record(reader.info(), output, name="headHash")


@app.command("sample")
def sample(
    file: Annotated[Path, typer.Argument(help="Where to write it; must not exist.")],
) -> None:
    """Write a small ledger to try the commands on; it is the same each time.

    Two teams share a cohort: there are admissions, borrowing, a preemption, and a job that never
    fits. The real core decided it, so `tidegate ledger verify` holds.

    Examples:
      tidegate ledger sample /tmp/sample.db

      tidegate why job/train -n a --ledger /tmp/sample.db
    """
    from tidegate.cli.sample import turns  # noqa: PLC0415 - only this command needs the core

    if file.exists():
        raise typer.BadParameter(f"{file} exists already: remove it or name another file.")
    written = _write(file, turns())
    say(f"{written} events. Try: tidegate queue list --ledger {file}")


@app.command("migrate")
def migrate(ledger: LedgerOption = "") -> None:
    """Make a ledger's tables, or bring them to this version's; its history stays as it is.

    A scheduler does this when it starts.

    Examples:
      tidegate ledger migrate --ledger postgresql://tidegate@db/tidegate
    """
    from store.migrate import upgrade  # noqa: PLC0415 - SQL may be absent

    if not ledger:
        raise typer.BadParameter("Name the ledger to migrate with --ledger.")
    upgrade(ledger)
    say("The schema is this version's.")


@app.command("rebuild-reports")
def rebuild_reports(ledger: LedgerOption = "") -> None:
    """Make the rows of the SQL reports again from the events; the writer waits meanwhile.

    They are the same as before, unless somebody changed them by hand.

    Examples:
      tidegate ledger rebuild-reports --ledger sqlite:////var/lib/tidegate/ledger.db
    """
    from store.migrate import rebuild_reports as rebuild  # noqa: PLC0415 - SQL may be absent

    if not ledger:
        raise typer.BadParameter("Name the ledger to change with --ledger.")
    rebuild(ledger)
    say("The reports are made again.")


def _audit(reader: Reader, outside: Witness | bytes | None, *, redecide: bool) -> Audit:
    entries = reader.entries("verifying")
    if not isinstance(outside, bytes):
        return audit(entries, witness=outside, redecide=redecide)
    met = list[int]()
    found = audit(_noting(entries, outside, met), redecide=redecide)
    if not met:
        raise WitnessError(f"an entry with hash {outside.hex()}", f"none up to {found.head_seq}")
    return found


def _noting(entries: Iterator[Entry], wanted: bytes, met: list[int]) -> Iterator[Entry]:
    for entry in entries:
        if entry.hash == wanted:
            met.append(entry.seq)
        yield entry


def _read_witness(text: str) -> Witness | bytes | None:
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


def _from_the_bus(url: str, cluster: str) -> Witness:
    from tidegate.bus.client import connect  # noqa: PLC0415 - only an audit with a bus needs it

    async def ask() -> Witness:
        async with connect(url, cluster=cluster) as events:
            told = await events.witness()
        if told is None:
            raise TidegateError(f"EVENTS at {url} holds no event of {cluster!r}: no witness.")
        return Witness(seq=told.seq, hash=told.hash)

    try:
        return asyncio.run(ask())
    except OSError as error:
        raise BusUnreachableError(f"NATS at {url} does not answer: {error}") from error


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


def _write(file: Path, turns: Iterator[list[Entry]]) -> int:
    from store.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.migrate import upgrade  # noqa: PLC0415
    from tidegate.contracts.entry import Positions  # noqa: PLC0415

    engine = open_engine(str(file))
    try:
        upgrade(engine)
        ledger = SqlLedger(engine, clock_us=lambda: 0)
        term = ledger.lead("sample", 0)
        assert term is not None, "nobody else writes a new file"
        seq = 0
        for entries in turns:
            ledger.append(term.epoch, seq, entries, Positions())
            seq = entries[-1].seq
    finally:
        engine.dispose()
    return seq
