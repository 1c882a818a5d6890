"""Partitions of ``ledger_event`` in PostgreSQL: created before the writer needs them.

Tables are the owner's, and the writer only appends. So a function runs with its owner's rights, and
the one thing it does is to add empty partitions, behind the last or where some have left.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, text

from store.access.engine import transaction
from store.tables import ledger_event
from tidegate.errors import LedgerUnreachableError

EVENTS_DEFAULT = 5_000_000
"""How many seqs a partition spans."""
CALL_MAX = 500
"""Partitions that one call makes at most: each takes locks until its transaction ends."""
FUNCTION = "ledger_make_partitions"
CALL = f"SELECT {FUNCTION}(:until, :size)"
SIGNATURE = f"{FUNCTION}(bigint, bigint)"
LOCK = 7_116_100_104
"""PostgreSQL's advisory lock for making partitions: any number that is only ours."""
LOCK_TIMEOUT = "2s"
"""Seconds that the function waits for a lock: others queue behind a waiting lock."""
# A table is made apart and attached: that takes SHARE UPDATE EXCLUSIVE on ledger_event, beside
# which all services read and append. CREATE TABLE ... PARTITION OF would wait for every reader, and
# block all others behind it. For the same reason there is no DEFAULT partition: it would be
# locked and searched each time, and with one nothing can be detached beside readers.
#
# Each partition of a ledger counts its seqs from 1: where the oldest tables have left, one that
# begins needs some again, below those that there are.
_BOUNDS = f"""
  SELECT coalesce(substring(bound from 'FROM \\(''?(\\d+)')::bigint, 0) AS low,
    substring(bound from 'TO \\(''?(\\d+)')::bigint AS high
    FROM (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '{ledger_event.name}'::regclass) AS parts
"""  # noqa: S608 - our name
BODY = f"""
DECLARE
  lower bigint;
  upper bigint;
  behind bigint;
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock({LOCK});
  SELECT coalesce(max(high) FILTER (WHERE high <= until), 0), min(low) FILTER (WHERE low > until)
    INTO upper, behind FROM ({_BOUNDS}) AS bounds;
  IF NOT EXISTS (SELECT FROM ({_BOUNDS}) AS bounds) OR behind IS NOT NULL THEN
    upper := greatest(upper, until / size * size);
  END IF;
  FOR made IN 1..{CALL_MAX} LOOP
    EXIT WHEN upper > until
      OR EXISTS (SELECT FROM ({_BOUNDS}) AS bounds WHERE low <= until AND until < high);
    lower := upper;
    upper := least((lower / size + 1) * size, behind);
    name := '{ledger_event.name}_' || lower;
    EXECUTE format('CREATE TABLE %I (LIKE {ledger_event.name} INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE {ledger_event.name} ATTACH PARTITION %I'
      ' FOR VALUES FROM (%s) TO (%s)', name, lower, upper);
  END LOOP;
  RETURN coalesce((SELECT min(high) FROM ({_BOUNDS}) AS bounds WHERE high > until
    AND high NOT IN (SELECT low FROM ({_BOUNDS}) AS following)), upper);
END
"""  # noqa: S608 - our names
_TRIES = 100
"""A partition spans so many times the events after which a failure is tried again."""


def function_definition(schema: str) -> str:
    """Return the statement that makes the function in a schema; the name is quoted already."""
    return (
        f"CREATE OR REPLACE FUNCTION {FUNCTION}(until bigint, size bigint) RETURNS bigint"
        f" LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp"
        f" SET lock_timeout = '{LOCK_TIMEOUT}' AS $body${BODY}$body$"
    )


def function_settings(schema: str) -> list[str]:
    """Return the statement that runs a schema's function; the name is quoted already."""
    return [f"search_path={schema}, pg_temp", f"lock_timeout={LOCK_TIMEOUT}"]


def make_partitions(conn: Connection, first: int, last: int, size: int) -> int:
    """Create the partitions for the seqs ``first`` to ``last``; return the first seq without one.

    What there are may end before, and lack some below.
    """
    upper = _call_function(conn, first, size)
    while upper <= last:
        upper = _call_function(conn, upper, size)
    return upper


def _call_function(conn: Connection, until: int, size: int) -> int:
    return int(conn.execute(text(CALL), {"until": until, "size": size}).scalar_one())


def is_partition(table: str | None) -> bool:
    """Return whether a table is named as the partitions are."""
    head, _, number = (table or "").rpartition("_")
    return head == ledger_event.name and number.isdecimal()


class PartitionCreator:
    """What one writer knows of the partitions; SQLite has none."""

    def __init__(self, engine: Engine, size: int = EVENTS_DEFAULT) -> None:
        """``size`` is how many seqs a new partition spans."""
        self._engine, self._size = engine, size
        self._upper = 0  # the first seq without a partition
        self._next = 0  # the seq from which on the next partition is created

    def ensure(self, first: int, last: int) -> None:
        """Make sure that partitions exist for some seqs; create the next one in good time.

        Raises:
            LedgerUnreachableError: no partition exists, and none can be created.
        """
        if last < self._next or self._engine.dialect.name != "postgresql":
            return
        try:
            with transaction(self._engine) as conn:
                self._upper = make_partitions(conn, first, last + self._size, self._size)
        except LedgerUnreachableError:
            # The table is locked: there is time, a whole partition is ahead.
            if last >= self._upper:
                raise
            self._next = last + max(1, self._size // _TRIES)
        else:
            self._next = self._upper - self._size
