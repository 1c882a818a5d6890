"""``tidegate reports``: what keeps the SQL reports right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from store.reading.about import partitions
from store.reading.kept_states import newest_snapshot
from tidegate.cli.ledger.reading import LedgerOption, Reader, ledger_url, open_reader
from tidegate.cli.output import print_message
from tidegate.cli.times import utc
from tidegate.errors import NotSupportedError

if TYPE_CHECKING:
    from store.reading.report_audit import Finding

_SNAPSHOTS = (
    "SELECT seq FROM ledger_snapshot WHERE partition = :partition AND version = :version"
    " AND seq <= :until ORDER BY seq"
)
_EXPIRED = "SELECT kept_from_us FROM report_state WHERE partition = :partition AND kept_from_us > 0"

_PAGES_A_LINE = 100
"""Of a rebuild: how often it says where it is."""

app = typer.Typer(
    help="The SQL reports' rows: compare them with the events, make them again.",
    no_args_is_help=True,
)


@app.command("rebuild")
def rebuild(ledger: LedgerOption = "") -> None:
    """Create the rows of the SQL reports again from the events.

    The rows are the same as before unless a user changed them. On PostgreSQL the services keep
    running: the scheduler waits only while the newest events are added, and an interrupted rebuild
    continues where it ended. On SQLite the scheduler waits for the whole rebuild.

    Examples:
      tidegate reports rebuild --ledger sqlite:////var/lib/tidegate/ledger.db
    """
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.schema.migrate import check, rebuild_reports  # noqa: PLC0415
    from store.schema.rebuilding import rebuild_online  # noqa: PLC0415

    engine = open_engine(_require_ledger(ledger))
    try:
        if engine.dialect.name == "postgresql":
            check(engine, writes=True)
            for number, seq in enumerate(rebuild_online(engine)):
                if number % _PAGES_A_LINE == 0:
                    print_message(f"rebuilt up to seq {seq}")
        else:
            rebuild_reports(engine)
    finally:
        engine.dispose()
    print_message("The reports are rebuilt.")


@app.command("expire")
def expire(
    ledger: LedgerOption = "",
    keep_months: Annotated[
        int,
        typer.Option(help="Whole months (UTC) to keep before the current month.", min=1, max=1_200),
    ] = 13,
) -> None:
    """Delete old rows of the SQL reports: of workloads that ended months ago.

    The events stay, so statements of closed months can still be verified. Rows of quota, queues and
    classes stay. The command uses small transactions, so no other session waits.

    Examples:
      tidegate reports expire --keep-months 13 --ledger sqlite:////var/lib/tidegate/ledger.db
    """
    from store.access.engine import open_engine, selecting  # noqa: PLC0415 - SQL may be absent
    from store.reading.entries import newest_entry  # noqa: PLC0415
    from store.schema.retention import expire_reports as delete_before  # noqa: PLC0415

    engine = open_engine(_require_ledger(ledger))
    try:
        with selecting(engine) as select:
            numbers = partitions(select)
            ends = [entry.at_us for each in numbers if (entry := newest_entry(select, each))]
        if not ends:
            raise NotSupportedError("The ledger is empty.")
        before = months_before(datetime.fromtimestamp(max(ends) // 1_000_000, UTC), keep_months)
        before_us = int(before.timestamp()) * 1_000_000
        counts = [
            count for each in numbers for count in delete_before(engine, before_us, each).values()
        ]
    finally:
        engine.dispose()
    print_message(f"The reports now begin with {before:%Y-%m}: {sum(counts)} rows were deleted.")


def months_before(at: datetime, months: int) -> datetime:
    """Return the beginning of the month that lies so many before a time's own."""
    index = at.year * 12 + at.month - 1 - months
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)


def _require_ledger(ledger: str) -> str:
    if not ledger:
        raise typer.BadParameter("Name the ledger to change with --ledger.")
    return ledger


@app.command("verify")
def verify(ledger: LedgerOption = "") -> None:
    """Compare reports, views, snapshots and archives with the events.

    The command creates the reports' rows again in memory and compares them. It compares views and
    PostgreSQL's function for partitions with this version's SQL, columns with their payload,
    snapshots with the state from the events, and archives with their digests. It reports triggers
    and rows of other partitions, and does not compare positions of streams and the scheduler's
    term. `tidegate ledger verify` checks the hash chain itself.

    Examples:
      tidegate reports verify --ledger sqlite:////var/lib/tidegate/ledger.db
    """
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.reading.report_audit import audit_reports  # noqa: PLC0415

    count = 0
    with open_reader(ledger, reports=False) as reader:
        if reader.database is None:
            raise NotSupportedError(f"{reader.url} is an archive: it has no reports.")
        engine = open_engine(ledger_url(ledger), read_only=True, primary=True)
        try:
            histories = {
                each.partition: each.entries("comparing") for each in reader.partition_readers()
            }
            findings = audit_reports(engine, histories)
            for finding in chain(findings, *map(_compare_snapshots, reader.partition_readers())):
                typer.echo(f"{finding.where}: {finding.what}")
                count += 1
            for each in reader.partition_readers():
                _print_expired(each)
        finally:
            engine.dispose()
    if count:
        raise typer.Exit(1)
    print_message("Reports, views, snapshots and archives match the events.")


def _print_expired(reader: Reader) -> None:
    assert reader.database is not None, "an archive has none"
    for (kept_from_us,) in reader.database.select(_EXPIRED, partition=reader.partition):
        print_message(
            f"Not covered: rows of workloads that ended before {utc(kept_from_us)}, which "
            "have expired."
        )


def _compare_snapshots(reader: Reader) -> Iterator[Finding]:
    """Yield the snapshots that hold another state than the events give."""
    from store.reading.report_audit import Finding  # noqa: PLC0415
    from tidegate.core.folding.snapshot import VERSION, is_snapshot_of  # noqa: PLC0415 - only here it folds
    from tidegate.replay.rebuild import rebuild as folded  # noqa: PLC0415

    assert reader.database is not None, "an archive has none"
    state, head = reader.initial_state()
    which = {"partition": reader.partition, "version": VERSION, "until": reader.end}
    for (seq,) in reader.database.select(_SNAPSHOTS, **which):
        state, head = folded(reader.ledger.read(head.seq, seq), state, head)
        stored = newest_snapshot(reader.database.select, reader.partition, VERSION, seq)
        if stored is None or stored.seq != seq or not is_snapshot_of(stored.state, state):
            yield Finding(f"snapshot at seq {seq}", "it is not the state that the events give")
