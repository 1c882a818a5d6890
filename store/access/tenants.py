"""Rows by namespace in PostgreSQL: a role that reads only what belongs to some namespaces.

Every other role still sees every row. A tenant may read the reporting tables, in which policies
show only its own rows; the views over them, which then run with the rights of the caller; the
time of each event; and until when a scheduler leads. It may not read ``quota_now``,
``quota_hourly`` and ``budgets``, which sum the usage of all namespaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from sqlalchemy import Connection, inspect, text

from store.access.engine import open_engine, transaction
from store.reporting import tables
from store.schema.version import VERSION_TABLE
from store.tables import ledger_event, ledger_schema, ledger_view, ledger_writer
from store.views.texts import TEXTS
from tidegate.errors import NotSupportedError

VERSION_MIN = 150_000
"""PostgreSQL 15 is the first with views that run with the rights of the querying role."""
SUMS = frozenset({"quota_now", "quota_hourly", "budgets"})
_OWN = (
    tables.workload,
    tables.wait,
    tables.holding,
    tables.usage,
    tables.usage_day,
    tables.preemption,
)
_COLUMNS = {
    **{table.name: "namespace" for table in _OWN},
    # A LocalQueue is "<namespace>/<name>"; a ClusterQueue or Cohort has none.
    tables.queue.name: "CASE kind WHEN 'LocalQueue' THEN split_part(owner, '/', 1) END",
}
"""The tables with rows by tenant, and the namespace of a row; NULL: visible to all."""
_SHARED = (tables.quota.name, tables.priority_class.name, tables.price.name)
_OF_ITSELF = (ledger_view.name, ledger_schema.name, VERSION_TABLE)
"""The schema's version, by which a reader knows whether it understands the rest."""
_PARTLY = {
    ledger_event.name: "partition, seq, at_us",
    ledger_writer.name: "partition, lease_until_us",
}
_EVERYBODY, _ONLY = "tidegate_everybody", "tidegate_only_"


def apply_tenant_policies(ledger: str, tenants: Mapping[str, Iterable[str]]) -> None:
    """Let each role see the rows of its namespaces alone; a former tenant loses all.

    A role that does not exist is made, without login. A login is given one such role: two of them
    together see only what both do.

    Raises:
        LedgerUnreachableError: the database does not answer.
        NotSupportedError: the ledger is in SQLite, its PostgreSQL is older than 15, or a role is
            missing that the migrating role may not make.
    """
    engine = open_engine(ledger)
    try:
        if engine.dialect.name != "postgresql":
            raise NotSupportedError("Only PostgreSQL has roles to give rights to.")
        with transaction(engine) as conn:
            _require_row_policies(conn)
            for role in sorted(_confined_roles(conn) - tenants.keys()):
                _revoke(conn, role)
            _add_open_policies(conn)
            for role, namespaces in sorted(tenants.items()):
                _create_role(conn, role)
                _revoke(conn, role)
                _grant(conn, role, sorted(namespaces))
    finally:
        engine.dispose()


def _require_row_policies(conn: Connection) -> None:
    version = conn.scalar(text("SELECT current_setting('server_version_num')::int")) or 0
    if version < VERSION_MIN:
        raise NotSupportedError(
            f"Rows by namespace need PostgreSQL {VERSION_MIN // 10_000}; "
            f"this is {version // 10_000}."
        )


def _confined_roles(conn: Connection) -> set[str]:
    """Return the roles that policies of ours confine now."""
    query = "SELECT unnest(roles)::text FROM pg_policies WHERE starts_with(policyname, :name)"
    return set(conn.scalars(text(query), {"name": _ONLY}))


def _add_open_policies(conn: Connection) -> None:
    """Enable policies where none confines roles other than tenants."""
    for table in _COLUMNS:
        _execute(conn, f"DROP POLICY IF EXISTS {_EVERYBODY} ON {table}")
        _execute(conn, f"CREATE POLICY {_EVERYBODY} ON {table} USING (true) WITH CHECK (true)")
        _execute(conn, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    for view in TEXTS:
        _execute(conn, f"ALTER VIEW {view} SET (security_invoker = true)")


def _create_role(conn: Connection, role: str) -> None:
    """Make a role if there is none, and let it into the schema.

    Raises:
        NotSupportedError: the migrating role may not do that; the message has a superuser's
        command.
    """
    to = _quoted(conn, role)
    if not _has_row(conn, "SELECT true FROM pg_roles WHERE rolname = :role", role):
        may = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
        if not _has_row(conn, may):
            raise NotSupportedError(f"There is no role {to}. As a superuser: CREATE ROLE {to}.")
        _execute(conn, f"CREATE ROLE {to} NOLOGIN")
    schema = conn.scalar(text("SELECT quote_ident(current_schema())"))
    enters = "SELECT has_schema_privilege(:role, current_schema(), 'USAGE')"
    if not _has_row(conn, enters, role):
        _execute(conn, f"GRANT USAGE ON SCHEMA {schema} TO {to}")
        if not _has_row(conn, enters, role):
            raise NotSupportedError(
                f"As a superuser: GRANT USAGE ON SCHEMA {schema} TO {to}; the owner of the tables"
                " may not pass that on."
            )


def _has_row(conn: Connection, question: str, role: str = "") -> bool:
    return bool(conn.scalar(text(question), {"role": role} if ":role" in question else {}))


def _revoke(conn: Connection, role: str) -> None:
    """Take every right and policy from a role."""
    inspector = inspect(conn)
    for name in (*inspector.get_table_names(), *inspector.get_view_names()):
        _execute(conn, f"REVOKE ALL ON {name} FROM {_quoted(conn, role)}")
    for table in _COLUMNS:
        _execute(conn, f"DROP POLICY IF EXISTS {_policy_name(role)} ON {table}")


def _grant(conn: Connection, role: str, namespaces: Iterable[str]) -> None:
    to = _quoted(conn, role)
    listed = ", ".join(map(_literal, namespaces))
    for table, namespace in _COLUMNS.items():
        readable = f"coalesce(({namespace}) = ANY (ARRAY[{listed}]::text[]), true)"
        _execute(
            conn,
            f"CREATE POLICY {_policy_name(role)} ON {table} AS RESTRICTIVE TO {to} "
            f"USING ({readable})",
        )
    for name in (*_COLUMNS, *_SHARED, *(TEXTS.keys() - SUMS), *_OF_ITSELF):
        _execute(conn, f"GRANT SELECT ON {name} TO {to}")
    for table, columns in _PARTLY.items():
        _execute(conn, f"GRANT SELECT ({columns}) ON {table} TO {to}")


def _policy_name(role: str) -> str:
    """Return a policy's name, which must not be longer than a role's may be."""
    return _ONLY + sha256(role.encode()).hexdigest()[:16]


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted(conn: Connection, name: str) -> str:
    return conn.dialect.identifier_preparer.quote(name)


def _execute(conn: Connection, statement: str) -> None:
    conn.exec_driver_sql(statement)  # no parameters: these statements take none
