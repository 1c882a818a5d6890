"""A ledger as a Parquet file, for tools that read columns: one row per entry, all columns.

It is read back as a file of lines is, a group of rows at a time, from either end.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from store.reading.entries import EVERY, PAGE_ROWS, EntryFilter
from tidegate.contracts.entry import Entry
from tidegate.errors import NotSupportedError, UndecodableError

SUFFIX = ".parquet"
GROUP_ROWS = 20_000
"""Rows of one row group: what is held in memory."""


class ParquetArchive:
    """The reading side of ``tidegate.bus.ports.Ledger``, over a Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, a group in memory.

        Raises:
            UndecodableError: the file is damaged.
            NotSupportedError: this installation lacks pyarrow.
        """
        with _open_parquet(self._path) as file:
            for number in range(file.num_row_groups):
                least, most = _seqs(file, number)
                if most > after and (until is None or least <= until):
                    for entry in _entries(file, number):
                        if entry.seq > after and (until is None or entry.seq <= until):
                            yield entry

    def back(
        self, until: int, rows: int = PAGE_ROWS, narrow: EntryFilter = EVERY
    ) -> Iterator[Entry]:
        """Yield the entries with seq <= ``until``, newest first, none left out."""
        del rows, narrow
        with _open_parquet(self._path) as file:
            for number in reversed(range(file.num_row_groups)):
                if _seqs(file, number)[0] <= until:
                    newest_first = reversed(_entries(file, number))
                    yield from (entry for entry in newest_first if entry.seq <= until)

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until`` that name one of some texts."""
        for entry in self.read(after, until):
            if any(text in entry.payload for text in texts):
                yield entry

    def end(self) -> int:
        """Return the seq of the last entry."""
        return next((entry.seq for entry in self.back(2**62)), 0)

    def seq_at(self, at_us: int) -> int:
        """Return the seq of the last entry that is not later than a time; 0: there is none."""
        seq = 0
        with _open_parquet(self._path) as file:
            for number in range(file.num_row_groups):
                entries = _entries(file, number)
                seq = max((entry.seq for entry in entries if entry.at_us <= at_us), default=seq)
                if entries[-1].at_us > at_us:
                    break
        return seq


def write(entries: Iterable[Entry], path: Path) -> int:
    """Write entries to a new file; return how many.

    Raises:
        FileExistsError: the file is there already.
        NotSupportedError: this installation lacks pyarrow.
    """
    pa, pq = _arrow("writes no Parquet")
    schema, count = _schema(pa), 0
    with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _row_groups(entries):
            columns = [[getattr(entry, name) for entry in group] for name in schema.names]
            writer.write_table(pa.table(columns, schema=schema))
            count += len(group)
    return count


def _arrow(lacking: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation {lacking} ({error}): pip install 'tidegate[parquet]', or "
            "use --format jsonl."
        ) from error
    return pa, pq


def _schema(pa: Any) -> Any:  # noqa: ANN401 - pyarrow ships no types
    """Return the columns of ``ledger_event``; at_us is a timestamp too, so that tools show it."""
    numbers = [(name, pa.int64()) for name in ("partition", "seq", "epoch", "turn")]
    texts = [(name, pa.string()) for name in ("cluster", "type", "subject", "payload")]
    columns = [*numbers, ("at_us", pa.timestamp("us", tz="UTC")), *texts, ("hash", pa.binary(32))]
    return pa.schema(columns)


def _row_groups(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    remaining = iter(entries)
    while group := list(islice(remaining, GROUP_ROWS)):
        yield group


@contextmanager
def _open_parquet(path: Path) -> Generator[Any]:
    pa, pq = _arrow("reads no Parquet")
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError, KeyError, ValueError, EOFError) as error:
        cause = " ".join(str(error).split())
        raise UndecodableError(f"{path} is damaged: {cause}. Take another copy of it.") from error


def _entries(file: Any, number: int) -> list[Entry]:  # noqa: ANN401 - pyarrow ships no types
    table = file.read_row_group(number, columns=list(Entry.__struct_fields__))
    at = table.column_names.index("at_us")
    table = table.set_column(at, "at_us", table.column("at_us").cast("int64"))
    columns = [table.column(name).to_pylist() for name in Entry.__struct_fields__]
    return [Entry(*row) for row in zip(*columns, strict=True)]


def _seqs(file: Any, number: int) -> tuple[int, int]:  # noqa: ANN401 - pyarrow ships no types
    """Return the least and the greatest seq in a group of rows."""
    at = file.schema_arrow.names.index("seq")
    statistics = file.metadata.row_group(number).column(at).statistics
    return statistics.min, statistics.max
