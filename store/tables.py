"""The ledger's own tables as SQLAlchemy Core sees them; the migrations build exactly these."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

from store.statements.rare_types import FREQUENT, IS_RARE

OBSERVATIONS, EVENTS = "OBSERVATIONS", "EVENTS"
"""The streams of which a position is kept; of a member cluster: ``OBSERVATIONS@<cluster>``."""

metadata = MetaData(
    naming_convention={"pk": "pk_%(table_name)s", "ix": "ix_%(table_name)s_%(column_0_N_name)s"}
)
Number = BigInteger().with_variant(Integer, "sqlite")

ledger_event = Table(
    "ledger_event",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("epoch", Number, nullable=False),
    Column("turn", Number, nullable=False),
    Column("at_us", Number, nullable=False),  # UTC microseconds; never falls
    Column("cluster", String, nullable=False),
    Column("type", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("payload", Text, nullable=False),  # JSON as written: a jsonb would reorder it
    Column("hash", LargeBinary(32), nullable=False),
    postgresql_partition_by="RANGE (seq)",  # store.partitions
)
Index(
    "ledger_event_rare",
    *(ledger_event.c[name] for name in ("partition", "type", "seq")),
    sqlite_where=text(IS_RARE),
    postgresql_where=text(f"type NOT IN ({', '.join(map(repr, sorted(FREQUENT)))})"),
)

ledger_writer = Table(
    "ledger_writer",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("epoch", Number, nullable=False),
    Column("holder", String, nullable=False),
    Column("lease_until_us", Number, nullable=False),  # database time
)

ledger_position = Table(
    "ledger_position",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("stream", String, primary_key=True),
    Column("incarnation", Number, nullable=False),
    Column("seq", Number, nullable=False),  # EVENTS: stream sequence minus ledger seq
    Column("moved_us", Number, nullable=False, server_default="0"),  # database time
)

ledger_snapshot = Table(
    "ledger_snapshot",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("seq", Number, primary_key=True, autoincrement=False),  # the newest event folded in
    Column("version", Integer, nullable=False),  # of the state's form
    Column("state", LargeBinary, nullable=False),
    Column(
        "hash", LargeBinary(32), nullable=False
    ),  # binds the state to the chain: store.snapshots
)

ledger_archive = Table(
    "ledger_archive",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("seq", Number, primary_key=True, autoincrement=False),  # the newest entry in the file
    Column("first_seq", Number, nullable=False),
    Column("epoch", Number, nullable=False),  # of the newest, as are the next three
    Column("turn", Number, nullable=False),
    Column("at_us", Number, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),  # the anchor: what the ledger goes on from
    Column("opened", Text, nullable=False),  # payload of the last LedgerOpened up to there
    Column("file", String, nullable=False),
    Column("digest", String, nullable=False),  # SHA-256 of the file
)

ledger_view = Table(
    "ledger_view",
    metadata,
    Column("name", String, primary_key=True),
    Column("place", Integer, nullable=False),  # in which order they were made
    Column("digest", String, nullable=False),  # SHA-256 of the text it was made from
)

ledger_schema = Table(
    "ledger_schema",
    metadata,
    Column("readable_from", String, primary_key=True),  # the oldest revision that may read it
)

report_state = Table(
    "report_state",
    metadata,
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("kept_from_us", Number, nullable=False),  # what ended before left the reports; 0: all
    Column("stale", String, nullable=False),  # the revision that wants them made again, or ""
)
"""Of the reporting tables; no row: they hold everything, and are right."""
