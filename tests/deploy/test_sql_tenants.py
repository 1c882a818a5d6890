"""A tenant's role sees the rows of its own namespaces only, in tables and in views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from json import loads
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from typer.testing import CliRunner, Result

from migrations.__main__ import main
from store.access import tenants
from store.access.engine import open_engine
from store.access.grants import grant
from store.ledger import SqlLedger
from store.schema import migrate
from store.schema.rights import read_view_rights
from store.tables import metadata
from store.views.catalog import VIEWS
from tests.parts.newer import NEWEST, Newer
from tests.parts.postgresql import Server
from tests.parts.reports import rows
from tests.store.histories import AT, LEASE_US, sealed
from tests.store.story import STORY
from tidegate.cli.program import build_app

pytestmark = pytest.mark.real
ROLES = Path(__file__).parents[2] / "deploy" / "sql" / "roles.sql"
TENANT, OTHER = "tidegate_tenant_a", "tidegate_tenant_b"
PLANNED = f"{TENANT}=a,empty {OTHER}=b"
Row: TypeAlias = tuple[Any, ...]
Ask: TypeAlias = Callable[[str, str], list[Row]]


@pytest.fixture(scope="module")
def url(postgresql: Server) -> Iterator[str]:
    """A ledger with a history and two tenants, written by a role that policies could stop."""
    made = postgresql.new_database()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute(ROLES.read_text().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGATE_LEDGER", made)
        patch.setenv("TIDEGATE_GRANT_TO", "tidegate_writer")
        patch.setenv("TIDEGATE_GRANT_READING_TO", "tidegate_reader")
        patch.setenv("TIDEGATE_GRANT_NAMESPACES", PLANNED)
        assert main() == 0
        assert main() == 0  # as each start of a pod does
    engine = open_engine(made.replace("tidegate@", "tidegate_writer@", 1))
    try:
        ledger = SqlLedger(engine)
        assert ledger.begin_term("a", LEASE_US) is not None
        for turn in sealed(*STORY):
            ledger.append(1, turn[0].seq - 1, turn, AT)
    finally:
        engine.dispose()
    yield made
    postgresql.drop(made)


@pytest.fixture
def ask(url: str) -> Iterator[Ask]:
    """Return what asks as a role."""
    with psycopg.connect(url, autocommit=True) as connection:

        def query_as(role: str, query: str) -> list[Row]:
            connection.execute(SQL("SET ROLE {}").format(Identifier(role)))
            return connection.execute(query.encode()).fetchall()

        yield query_as


def table_rows(ask: Ask, role: str, table: str) -> set[tuple[str, int]]:
    """Return the namespaces whose rows a role sees in a table, and how many of each."""
    query = f"SELECT namespace, count(*) FROM {table} GROUP BY namespace"  # noqa: S608 - our names
    return {(str(name), int(count)) for name, count in ask(role, query)}


def with_namespace() -> list[str]:
    """Return the tables that have a column namespace."""
    return [name for name, table in metadata.tables.items() if "namespace" in table.c]


def test_of_each_table_a_tenant_sees_its_own_rows(ask: Ask) -> None:
    assert len(with_namespace()) == 6
    for table in with_namespace():
        every = table_rows(ask, "tidegate_reader", table)
        of_a, of_b = (table_rows(ask, role, table) for role in (TENANT, OTHER))
        assert {name for name, _ in of_a} <= {"a"}
        assert {name for name, _ in of_b} <= {"b"}
        assert of_a | of_b == every, table


def test_of_each_view_a_tenant_sees_its_own_rows(ask: Ask) -> None:
    seen = 0
    for name in VIEWS.keys() - tenants.SUMS:
        if "namespace" not in {column.name for column in VIEWS[name].columns}:
            assert ask(TENANT, f"SELECT * FROM {name}") is not None  # noqa: S608 - our names
            continue
        namespaces = {row[0] for row in ask(TENANT, f"SELECT namespace FROM {name}")}  # noqa: S608
        assert namespaces <= {"a"}, name
        seen += bool(namespaces)
    assert seen >= 6


def test_a_tenants_own_rows_are_those_that_everybody_sees_of_it(ask: Ask) -> None:
    for name in ("usage_hourly", "holdings", "waits", "wait_summary", "preemptions"):
        own = ask(TENANT, f"SELECT * FROM {name} ORDER BY {name}")  # noqa: S608 - our names
        query = f"SELECT * FROM {name} WHERE namespace = 'a' ORDER BY {name}"  # noqa: S608
        assert own == ask("tidegate_reader", query)
        assert own


@pytest.mark.parametrize(
    "query",
    [
        "SELECT payload FROM ledger_event",
        "SELECT subject FROM ledger_event",
        "SELECT * FROM ledger_snapshot",
        "SELECT * FROM ledger_position",
        "SELECT * FROM quota_now",
        "SELECT * FROM quota_hourly",
        "DELETE FROM report_usage",
        "ALTER TABLE report_usage DISABLE ROW LEVEL SECURITY",
    ],
)
def test_what_tells_of_others_or_changes_anything_is_refused(ask: Ask, query: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(TENANT, query)


def as_tenant(url: str, *command: str) -> Result:
    """Return what the command line answers one who connects with a tenant's role."""
    options = f"{'&' if '?' in url else '?'}options=-c%20role%3D{TENANT}"
    return CliRunner().invoke(build_app(), [*command, "--ledger", url + options])


def test_a_tenant_prints_reports_of_its_rows(url: str) -> None:
    for name in sorted(VIEWS.keys() - tenants.SUMS):
        printed = as_tenant(url, "report", name, "-o", "json")
        assert printed.exit_code == 0, printed.stderr
        assert {row.get("namespace", "a") for row in loads(printed.stdout)} <= {"a", None}, name


@pytest.mark.parametrize("command", ["report quota_now", "why a/job-huge", "show queues", "events"])
def test_a_refusal_says_which_commands_work_with_a_tenants_role(url: str, command: str) -> None:
    refused = as_tenant(url, *command.split())
    assert refused.exit_code == 3
    assert "refuses this role: permission denied" in refused.stderr
    assert "`tidegate report`" in refused.stderr


def test_of_the_local_queues_a_tenant_sees_its_own(ask: Ask) -> None:
    query = "SELECT owner FROM report_queue WHERE kind = 'LocalQueue'"
    assert {owner for (owner,) in ask("tidegate_reader", query)} == {"a/main", "b/main"}
    assert {owner for (owner,) in ask(TENANT, query)} == {"a/main"}
    shared = "SELECT count(*) FROM report_queue WHERE kind <> 'LocalQueue'"
    assert ask(TENANT, shared) == ask("tidegate_reader", shared)


def test_a_role_without_tenant_sees_everything_as_before(url: str, ask: Ask) -> None:
    engine = open_engine(url, read_only=True)
    try:
        for name in VIEWS:
            [(count,)] = ask("tidegate_reader", f"SELECT count(*) FROM {name}")  # noqa: S608
            assert count == len(rows(engine, name)), name
    finally:
        engine.dispose()


def test_a_former_tenant_sees_nothing(url: str, ask: Ask) -> None:
    tenants.apply_tenant_policies(url, {OTHER: ["b"]})
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(TENANT, "SELECT * FROM waits")
        assert table_rows(ask, OTHER, "report_wait")
    finally:
        tenants.apply_tenant_policies(url, {TENANT: ["a"], OTHER: ["b"]})


def test_a_tenant_sees_nothing_of_views_that_were_made_again_without_it(
    url: str, ask: Ask, newer: Newer
) -> None:
    version = newer()
    migrate.upgrade(url)
    migrate.downgrade(url, NEWEST)
    version.undo()
    migrate.upgrade(url)
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            ask(TENANT, "SELECT * FROM waits")
        assert {name for name, _ in table_rows(ask, TENANT, "report_wait")} == {"a"}
    finally:
        tenants.apply_tenant_policies(url, {TENANT: ["a"], OTHER: ["b"]})


def test_views_that_are_made_anew_are_read_on_by_their_readers(url: str, ask: Ask) -> None:
    def seen() -> list[object]:
        engine = open_engine(url)
        with engine.connect() as conn:
            kept = read_view_rights(conn)
        engine.dispose()
        asked = [(TENANT, "waits"), (TENANT, "usage_hourly"), ("tidegate_reader", "quota_now")]
        return [kept, *(sorted(ask(role, f"SELECT * FROM {view}")) for role, view in asked)]  # noqa: S608

    grant(url, reader="tidegate_reader")
    before = seen()
    ask("tidegate", "UPDATE ledger_view SET digest = 'of an older version' RETURNING name")
    migrate.upgrade(url)
    assert seen() == before
    rights = before[0]
    assert isinstance(rights, dict)
    assert rights["waits"].options == ("security_invoker=true",)
    assert len(rights["waits"].readers) > 1


@pytest.mark.parametrize("text", ["ann", "=team-a", "ann=", "ann=a ann=b"])
def test_what_names_no_role_and_namespace_is_refused(
    text: str, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGATE_LEDGER", url)
    monkeypatch.setenv("TIDEGATE_GRANT_NAMESPACES", text)
    assert main() == 1
    assert "ROLE=NAMESPACE" in capsys.readouterr().err
