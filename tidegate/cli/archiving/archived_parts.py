"""Parts of a ledger that files hold: which there are, and one whose file was just written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from store.archive.archive_format import archive_of, sha256_of
from store.archive.archive_ranges import ArchivedRange
from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.entry import Entry


def archived_parts(engine: Any, partition: int = 0) -> list[ArchivedRange]:  # noqa: ANN401 - SQL's
    """Return a ledger's parts in files, the oldest first.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    from store.access.engine import selecting  # noqa: PLC0415
    from store.archive import archive_ranges  # noqa: PLC0415 - SQL may be absent

    with selecting(engine) as select:
        return archive_ranges.archived_ranges(select, partition)


def archive_anchor(engine: Any, partition: int = 0) -> Entry:  # noqa: ANN401 - SQL's
    """Return the entry behind which the next part begins; errors as ``archived_parts``."""
    parts = archived_parts(engine, partition)
    return parts[-1].anchor() if parts else replace(GENESIS, partition=partition)


def read_verified_part(written: Path, anchor: Entry, named: Path) -> ArchivedRange:
    """Return the part that a file holds, its chain checked as it is on disk.

    Args:
        written: the file.
        anchor: the entry behind which it begins.
        named: where it will be.

    Raises:
        ChainError: what was read back does not follow from the anchor.
    """
    end = GENESIS
    for entry in verify(archive_of(written).read(), anchor):
        end = entry
    return ArchivedRange(
        partition=end.partition,
        seq=end.seq,
        first_seq=anchor.seq + 1,
        epoch=end.epoch,
        turn=end.turn,
        at_us=end.at_us,
        hash=end.hash,
        opened="",
        file=str(named),
        digest=sha256_of(written),
    )
