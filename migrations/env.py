"""Where Alembic meets the ledger's tables; run by ``store.schema.migrate`` and by alembic itself.

``store.schema.migrate`` hands over a connection whose transaction it commits itself. Without one,
as in ``make migrate``, a new revision is compared with a fresh ledger at the newest one.
"""

from __future__ import annotations

import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Any

from alembic import context
from sqlalchemy import Connection

from store.access.engine import open_engine
from store.reporting import tables  # registers the reporting tables with the metadata
from store.schema.version import revisions


def number(_context: Any, _revision: Any, directives: list[Any]) -> None:  # noqa: ANN401 - alembic's
    """Name a new revision by the next number: its file sorts behind the others."""
    directives[0].rev_id = f"{int(revisions()[-1]) + 1:04}"


def run(connection: Connection) -> None:
    """Do what the command asked for, within the connection's transaction."""

    def made_here(item: Any, *_arguments: object) -> bool:  # noqa: ANN401 - any of SQLAlchemy's items
        return tables.is_created_on(connection.dialect.name, item)

    context.configure(
        connection=connection,
        target_metadata=tables.usage.metadata,
        include_object=made_here,
        render_as_batch=True,  # SQLite changes a column by copying its table
        process_revision_directives=number,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_on_newest() -> None:
    """Run on a ledger of the newest revision, made by a process of its own: one env at a time."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/newest.db"
        upgrade = "import sys; from store.schema.migrate import upgrade; upgrade(sys.argv[1])"
        subprocess.run([sys.executable, "-c", upgrade, url], check=True)  # noqa: S603 - our own
        engine = open_engine(url)
        with engine.connect() as connection:
            run(connection)
        engine.dispose()


given = context.config.attributes.get("connection")
if given is None:
    run_on_newest()
else:
    run(given)
