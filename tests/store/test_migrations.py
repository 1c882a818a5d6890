"""The migrations build exactly the tables that the code speaks to, and can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedIndex

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reporting.tables import is_created_on, usage
from store.schema import migrate
from store.schema.migrate import check
from store.schema.version import revisions
from store.tables import metadata
from store.views.catalog import VIEWS
from tests.parts.newer import NEWEST, Newer
from tidegate.errors import LedgerUnreachableError, NotSupportedError

LOSES_EVENTS = """\
def upgrade() -> None:
    op.add_column("ledger_archive", sa.Column("note", sa.String(), server_default=""))


def downgrade() -> None:
    op.drop_column("ledger_archive", "note")
    raise NotSupportedError("Events are in archives that older versions do not read.")
"""


@pytest.fixture
def empty(url: str) -> Iterator[Engine]:
    """The engine of an empty database."""
    engine = open_engine(url)
    yield engine
    engine.dispose()


def where_of(index: ReflectedIndex) -> list[str]:
    """Return the condition of a partial index, as the database tells it."""
    return [
        str(value) for name, value in index["dialect_options"].items() if name.endswith("where")
    ]


def shape(engine: Engine) -> dict[str, Any]:
    """Return all that the database knows of its tables, but for Alembic's own."""
    inspector = inspect(engine)
    return {
        table: (
            [
                (column["name"], str(column["type"]), column["nullable"])
                for column in inspector.get_columns(table)
            ],
            inspector.get_pk_constraint(table),
            sorted(
                (index["name"], index["column_names"], index["unique"], where_of(index))
                for index in inspector.get_indexes(table)
            ),
        )
        for table in inspector.get_table_names()
        if table != "alembic_version"
    }


_BY_LENGTH = "ignore:.*expression-based index"  # SQLite does not tell of its columns


@pytest.mark.filterwarnings(_BY_LENGTH)
def test_the_migrations_build_exactly_the_tables(empty: Engine) -> None:
    metadata.create_all(empty)
    expected = shape(empty)
    metadata.drop_all(empty)
    migrate.upgrade(empty)
    assert shape(empty) == expected

    def made_here(item: object, *_told: object) -> bool:
        return is_created_on(empty.dialect.name, item)

    with empty.connect() as conn:
        ours = MigrationContext.configure(conn, opts={"include_object": made_here})
        assert compare_metadata(ours, metadata) == []


def test_the_migrations_build_exactly_the_views(empty: Engine) -> None:
    migrate.upgrade(empty)
    assert sorted(inspect(empty).get_view_names()) == sorted(VIEWS)
    assert usage.name in inspect(empty).get_table_names()


@pytest.mark.filterwarnings(_BY_LENGTH)
def test_every_migration_can_be_undone_and_done_again(empty: Engine) -> None:
    migrate.upgrade(empty)
    expected = shape(empty)
    for revision in [*revisions()[-2::-1], "base"]:
        migrate.downgrade(empty, revision)
        assert inspect(empty).get_view_names() == []
    assert shape(empty) == {}
    migrate.upgrade(empty)
    assert shape(empty) == expected


@pytest.mark.filterwarnings(_BY_LENGTH)
def test_a_migration_that_cannot_be_undone_leaves_the_ledger_as_it_is(
    empty: Engine, newer: Newer
) -> None:
    newer(body=LOSES_EVENTS)
    migrate.upgrade(empty)
    before = shape(empty)
    for revision in (NEWEST, "base"):
        with pytest.raises(NotSupportedError, match="in archives"):
            migrate.downgrade(empty, revision)
    assert shape(empty) == before
    check(empty, writes=True)


def test_of_many_that_upgrade_at_once_one_does_it(empty: Engine) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(migrate.upgrade, 4 * [empty]))
    check(empty)


def test_a_view_that_was_changed_by_hand_is_made_again(empty: Engine) -> None:
    migrate.upgrade(empty)
    with empty.begin() as conn:
        conn.execute(text("UPDATE ledger_view SET digest = 'other' WHERE name = 'queues'"))
    with pytest.raises(LedgerUnreachableError, match="ledger migrate"):
        check(empty)
    migrate.upgrade(empty)
    check(empty)


def test_a_ledger_of_a_newer_version_is_refused(empty: Engine) -> None:
    migrate.upgrade(empty)
    with empty.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        conn.execute(text("UPDATE ledger_schema SET readable_from = '9999'"))
    for refused in (migrate.upgrade, check):
        with pytest.raises(LedgerUnreachableError, match=r"A newer Tidegate.*9999"):
            refused(empty)
    assert "report_usage" in inspect(empty).get_table_names()


def test_a_database_without_a_ledger_is_distinguished(empty: Engine) -> None:
    with pytest.raises(LedgerUnreachableError, match="There is no ledger"):
        check(empty)
    with pytest.raises(LedgerUnreachableError, match="lacks its tables"):
        list(SqlLedger(empty).read())
