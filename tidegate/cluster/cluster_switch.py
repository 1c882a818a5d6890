"""The cluster that a state folder's ledger and bus belong to; another cluster's are moved away.

An embedded cluster is a new one after each ``tidegate down``. Its ledger waits in a folder of its
own for the cluster to come back, and the new cluster begins with an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

NOTE = "cluster-uid"
KEPT = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "nats")


def switch_to_cluster(uid: str, state: Path, report: Callable[[str], None]) -> None:
    """Move another cluster's ledger and bus away, and move this cluster's back."""
    note = state / NOTE
    before = note.read_text().strip() if note.exists() else uid
    if before != uid:
        away, back = state / "clusters" / before, state / "clusters" / uid
        _move(state, away)
        report(f"this is another cluster than the last one, whose ledger is kept in {away}")
        if back.exists():
            _move(back, state)
    note.write_text(f"{uid}\n")


def _move(start: Path, end: Path) -> None:
    end.mkdir(parents=True, exist_ok=True)
    for part in _movable_parts(start):
        part.rename(end / part.name)


def _movable_parts(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in KEPT if (folder / name).exists())
