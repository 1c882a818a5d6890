"""How much of a file a connection keeps in memory: less than a service."""

from __future__ import annotations

from tidegate.cli.ledger.reading import Reader

CACHE_KIB = 8_192


def spared(reader: Reader) -> Reader:
    """Return a reader whose connection keeps few pages in memory; PostgreSQL keeps none."""
    assert reader.database is not None, "an archive is not served"
    if reader.database.dialect == "sqlite":
        reader.database.select(f"PRAGMA cache_size = -{CACHE_KIB}")
    return reader
