"""``tidegate ledger recover``: go on with a ledger that lost its newest entries."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from tidegate.bus.ports import Ledger
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition_in
from tidegate.cli.nats_options import (
    BusCaOption,
    BusCredentialsOption,
    ClusterOption,
    NatsOptions,
    nats_options,
)
from tidegate.cli.output import print_message
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import NotSupportedError
from tidegate.urls import redacted

if TYPE_CHECKING:
    from tidegate.bus.jetstream.connection import NatsBus

HOLDER = "tidegate ledger recover"
LEASE_US = 60_000_000
TRIES, POLL_S = 60, 0.5
ID_BYTES = 8
WHY = "the ledger was recovered under a new name"


def recover(  # noqa: PLR0913 - each is an option
    bus: Annotated[
        str,
        typer.Option(
            "--bus", help="The nats:// URL of the stream EVENTS that is ahead of the ledger."
        ),
    ],
    ledger: Annotated[
        str, typer.Option(envvar="TIDEGATE_LEDGER", help="The ledger without its newest events.")
    ],
    cluster: ClusterOption = "local",
    *,
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    from_events: Annotated[
        bool, typer.Option("--from-events", help="Copy the missing events from EVENTS.")
    ] = False,
    author: Annotated[
        str,
        typer.Option(
            envvar="TIDEGATE_AUTHOR",
            help="The author of the recovery; default: the login of this process.",
        ),
    ] = "",
    partition: OnePartitionOption = None,
) -> None:
    """Continue with a ledger that was restored from a backup and lacks its newest events.

    With --from-events they are brought back from EVENTS, as far as it still holds them: the same
    rows with the same hashes, under the same name, and nothing is lost. An empty ledger is made
    again so.

    Else the ledger gets a new name, by an event that names its author. What EVENTS holds beyond its
    end stays there and counts no more. Everything is observed again; what runs in the cluster by
    orders that were lost is adopted, and nothing is stopped. A job that they had stopped starts
    again only if what runs leaves quota for it; else it waits. Refused while a scheduler leads.
    Each partition is recovered on its own.

    Examples:
      tidegate ledger recover --bus nats://127.0.0.1:4222 --ledger ledger.db --from-events

      tidegate ledger recover --bus tls://tidegate_local_operator:PASSWORD@nats --ledger ledger.db
    """
    import asyncio  # noqa: PLC0415 - no other command of `ledger` needs it

    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.schema.migrate import check, upgrade  # noqa: PLC0415

    engine, how = open_engine(ledger), nats_options(cluster, bus_credentials, bus_ca)
    try:
        if from_events:
            upgrade(engine)
            number = single_partition_in(engine, partition, "ledger recover")
            text = asyncio.run(_restore_events(engine, bus, how, number))
        else:
            check(engine, writes=True)
            operator = author or _login()
            number = single_partition_in(engine, partition, "ledger recover")
            ledger_ = SqlLedger(engine, number)
            text = asyncio.run(_recover_with_bus(ledger_, bus, how, operator, number)).ledger_id
            text = f"The ledger goes on as {text}: start the scheduler."
    finally:
        engine.dispose()
    print_message(text)


async def _restore_events(engine: Any, url: str, nats: NatsOptions, partition: int) -> str:  # noqa: ANN401 - SQL's
    from store.ledger import SqlLedger, end_term  # noqa: PLC0415
    from tidegate.bus.jetstream.connection import open_bus  # noqa: PLC0415 - only here a command writes to a bus
    from tidegate.cli.ledger.restoring import restore_from_events  # noqa: PLC0415

    ledger, genesis = SqlLedger(engine, partition), replace(GENESIS, partition=partition)
    async with open_bus(
        url, name="client", on_refused=_print_refusal, partition=partition, **nats._asdict()
    ) as bus:
        term = await _acquire_term(ledger)
        begun = ledger.newest() or genesis
        try:
            head = await restore_from_events(ledger, bus, term, begun)
            await bus.observation_reader().request_resync(
                "the ledger's newest events were brought back"
            )
        finally:
            newest = ledger.newest() or genesis
            end_term(engine, partition, term.epoch, newest.epoch)
    return f"{head.seq - begun.seq} events are back, up to seq {head.seq}: start the scheduler."


def _print_refusal(text: str) -> None:
    print_message(
        f"NATS refuses: {redacted(text)}; use the user operator of deploy/nats/accounts.conf"
    )


def _login() -> str:
    from getpass import getuser  # noqa: PLC0415 - no other command needs it

    try:
        return getuser()
    except (KeyError, OSError):  # a container may run with a uid without a name
        return ""


async def _recover_with_bus(
    ledger: Ledger, url: str, nats: NatsOptions, author: str, partition: int
) -> LedgerOpened:
    from tidegate.bus.jetstream.connection import open_bus  # noqa: PLC0415 - only here a command writes to a bus

    async with open_bus(
        url, name="client", on_refused=_print_refusal, partition=partition, **nats._asdict()
    ) as bus:
        ledger_id = secrets.token_hex(ID_BYTES)
        return await rename_ledger(ledger, bus, nats.cluster, ledger_id, author, partition)


async def rename_ledger(  # noqa: PLR0913, PLR0917 - what the event tells
    ledger: Ledger,
    bus: NatsBus,
    cluster: str,
    ledger_id: str,
    author: str = "",
    partition: int = 0,
) -> LedgerOpened:
    """Give a ledger a new name behind what EVENTS holds, and return that.

    Raises:
        NotSupportedError: a scheduler leads.
        BusUnreachableError, LedgerUnreachableError, CommitUnknownError: try again.
    """
    from tidegate.bus.jetstream.keys import ledger_key  # noqa: PLC0415 - NATS may be absent

    term = await _acquire_term(ledger)
    try:
        last, counts = await bus.event_publisher().last_published(term.events)
        end = Position(counts.incarnation, last + counts.seq)
        reader = bus.observation_reader()
        # A list that was asked for before the lost decisions would tell too little of what runs.
        begins = await reader.start_position()
        # Of a member nothing counts as read: the scheduler then begins at its stream's end, and
        # asks for all of it, as of a cluster that it hears of for the first time.
        members = dict.fromkeys(term.members, Position())
        own = begins if begins.seq else None
        ends = Positions(observations=own, events=end, members=members)
        # Before the ledger bears it: readers take another name than the register's for forged.
        await bus.register().put(ledger_key(partition), ledger_id)
        opened, head = _append_new_name(ledger, term, cluster, ends, ledger_id, author)
        await reader.request_resync(WHY)
    finally:
        ledger.renew_term(term.epoch, 0)
    print_message(
        f"seq {head.seq}: {head.type}; EVENTS goes on behind stream sequence {last + counts.seq}"
    )
    return opened


async def _acquire_term(ledger: Ledger) -> Term:
    """Take a term, once the lease has expired that the leader held when the backup was made."""
    from asyncio import sleep  # noqa: PLC0415 - see above

    for _ in range(TRIES):
        if (term := ledger.begin_term(HOLDER, LEASE_US)) is not None:
            return term
        await sleep(POLL_S)
    raise NotSupportedError("A scheduler leads on this ledger: stop it first.")


def _append_new_name(  # noqa: PLR0913, PLR0917 - what the event tells
    ledger: Ledger, term: Term, cluster: str, ends: Positions, ledger_id: str, author: str
) -> tuple[LedgerOpened, Entry]:
    """Append the new name behind the ledger's end; EVENTS counts on from its own.

    ``ends`` are those of the streams.
    """
    from importlib.metadata import version  # noqa: PLC0415 - loads the reader of e-mail

    from tidegate.replay.rebuild import rebuild  # noqa: PLC0415 - only this command folds

    state, head = rebuild(ledger.read())
    opened = LedgerOpened(
        at_us=max(state.now_us, 0),
        ledger_id=ledger_id,
        cluster=cluster,
        cluster_uid=state.cluster_uid,
        partition=state.partition,
        software=f"tidegate {version('tidegate')}",
        author=author,
    )
    entries = seal(head, term.epoch, cluster, [opened])
    assert ends.events is not None, "a recovery has looked at EVENTS"
    counts = Position(ends.events.incarnation, ends.events.seq - head.seq)
    ledger.append(term.epoch, head.seq, entries, replace(ends, events=counts))
    return opened, entries[-1]
