"""A ledger as a file: what ``ledger export`` and ``ledger archive`` write and every command reads.

Parquet, or lines: one entry a line, every column as the ledger has it, the hash in hexadecimal. The
chain is kept, so an archive is audited like a ledger. A name that ends in ``.gz`` is compressed.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import IO, Literal, cast

import msgspec
from msgspec.structs import asdict

from store.archive import parquet
from store.reading.entries import EVERY, PAGE_ROWS, EntryFilter
from tidegate.contracts.entry import Entry
from tidegate.errors import UndecodableError

LINES = (".jsonl", ".jsonl.gz")
SUFFIXES = (*LINES, parquet.SUFFIX)


class Archive:
    """The reading side of ``tidegate.bus.ports.Ledger``, over a file of lines."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until``, in order, in constant memory.

        Raises:
            UndecodableError: the file is damaged; the message has the first damaged line and event.
        """
        with _open_stream(self._path, "rb") as file:
            for entry in _entries(file, self._path):
                if until is not None and entry.seq > until:
                    return
                if entry.seq > after:
                    yield entry

    def back(
        self, until: int, rows: int = PAGE_ROWS, narrow: EntryFilter = EVERY
    ) -> Iterator[Entry]:
        """Yield the entries with seq <= ``until``, newest first, none left out."""
        del rows, narrow
        yield from reversed(list(self.read(0, until)))

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """Yield the entries with ``after`` < seq <= ``until`` that name one of some texts."""
        for entry in self.read(after, until):
            if any(text in entry.payload for text in texts):
                yield entry

    def end(self) -> int:
        """Return the seq of the last entry; reads the whole file."""
        last = 0
        for entry in self.read():
            last = entry.seq
        return last

    def seq_at(self, at_us: int) -> int:
        """Return the seq of the last entry that is not later than a time; 0: there is none."""
        seq = 0
        for entry in self.read():
            if entry.at_us > at_us:
                break
            seq = entry.seq
        return seq


def archive_of(path: Path) -> Archive | parquet.ParquetArchive:
    """Return what reads a file, by its name's end."""
    return parquet.ParquetArchive(path) if path.suffix == parquet.SUFFIX else Archive(path)


def is_archive(text: str) -> bool:
    """Return whether a ledger's URL is the path of an archive."""
    return "://" not in text and text.endswith(SUFFIXES)


def write(entries: Iterable[Entry], path: Path) -> int:
    """Write entries to a new file; return how many.

    Raises:
        FileExistsError: the file is there already.
        NotSupportedError: it is to be Parquet, and this installation lacks pyarrow.
    """
    if path.suffix == parquet.SUFFIX:
        return parquet.write(entries, path)
    count = 0
    with _open_stream(path, "xb") as file:
        for entry in entries:
            columns = asdict(entry) | {"hash": entry.hash.hex()}
            file.write(msgspec.json.encode(columns) + b"\n")
            count += 1
    return count


def archive_name(first: int, last: int, suffix: str, partition: int = 0) -> str:
    """Return what the file of some events of a partition is called in a folder."""
    of = f"partition-{partition}-" if partition else ""
    return f"events-{of}{first:012}-{last:012}{suffix}"


def fsync_file(path: Path) -> None:
    """Wait until a file is on disk, and so is its name: what it copies may be deleted now."""
    for each in (path, path.parent):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


class _Line(msgspec.Struct, frozen=True):
    """An entry whose hash is text."""

    partition: int
    seq: int
    epoch: int
    turn: int
    at_us: int
    cluster: str
    type: str
    subject: str
    payload: str
    hash: str


_decoder = msgspec.json.Decoder(_Line)


def _entries(file: IO[bytes], path: Path) -> Iterator[Entry]:
    """Yield a file's entries in order."""
    number, seq = 0, 0
    try:
        for number, line in enumerate(file, 1):  # noqa: B007 - for the message
            entry = _decode_line(line)
            yield entry
            seq = entry.seq
    except (msgspec.DecodeError, ValueError) as error:
        message = f"Line {number} of {path} is no entry: {error}. {_readable_part(seq)}"
        raise UndecodableError(message) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"{path} is damaged behind line {number}: {error}. {_readable_part(seq)}"
        raise UndecodableError(message) from error


def _readable_part(seq: int) -> str:
    readable = f"It can be read up to seq {seq}" if seq else "Nothing of it can be read"
    return f"{readable}: take another copy of the file."


def _decode_line(line: bytes) -> Entry:
    columns = asdict(_decoder.decode(line))
    columns["hash"] = bytes.fromhex(columns["hash"])
    return msgspec.convert(columns, Entry)


def _open_stream(path: Path, mode: Literal["rb", "xb"]) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, mode))
    return path.open(mode)
