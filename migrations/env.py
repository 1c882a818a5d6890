"""Where Alembic meets the ledger's tables; run by ``store.migrate`` and by the alembic command.

``store.migrate`` hands over a connection whose transaction it commits itself. Without one, as in
``make migrate``, a new revision is compared with a ledger in memory that is at the newest one.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from store import migrate
from store.engine import open_engine
from store.tables import metadata


def run(connection: Connection) -> None:
    """Do what the command asked for, within the connection's transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,  # SQLite changes a column by copying its table
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    engine = open_engine("sqlite://")
    migrate.upgrade(engine)
    with engine.connect() as connection:
        run(connection)
    engine.dispose()
