"""A ledger as a Parquet file, for tools that read columns: one row an entry, every column kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tidegate.contracts.entry import Entry
from tidegate.errors import NotSupportedError

GROUP_ROWS = 20_000
"""Rows of one row group: what is held in memory."""


def write(entries: Iterable[Entry], path: Path) -> int:
    """Write entries to a new file; return how many.

    Raises:
        FileExistsError: the file is there already.
        NotSupportedError: this installation lacks pyarrow.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation writes no Parquet ({error}): pip install 'tidegate[parquet]', or "
            "use --format jsonl."
        ) from error
    schema, count = _schema(pa), 0
    with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(entries):
            columns = [[getattr(entry, name) for entry in group] for name in schema.names]
            writer.write_table(pa.table(columns, schema=schema))
            count += len(group)
    return count


def _schema(pa: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return the columns of ``ledger_event``; at_us is a timestamp too, so that tools show it."""
    numbers = [(name, pa.int64()) for name in ("partition", "seq", "epoch", "turn")]
    texts = [(name, pa.string()) for name in ("cluster", "type", "subject", "payload")]
    told = [*numbers, ("at_us", pa.timestamp("us", tz="UTC")), *texts, ("hash", pa.binary(32))]
    return pa.schema(told)


def _groups(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    left = iter(entries)
    while group := list(islice(left, GROUP_ROWS)):
        yield group
