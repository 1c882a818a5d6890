"""``python -m tests.ledgers``: keep this version's ledgers, as each release does once.

A file that is there is never written again. Prints the line for ``HEADS`` in test_kept.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from store.archive.archive_format import Archive, write
from tests.store.busy import Busy
from tidegate.cli.sample.ledger import sample_turns
from tidegate.contracts.entry import Entry
from tidegate.replay.verify import audit_ledger

KEPT = Path(__file__).parent / "kept"


def keep(name: str, entries: Iterable[list[Entry]]) -> None:
    """Write one ledger, if it is not there, and print its name and the hash of its end."""
    path = KEPT / f"{version('tidegate')}-{name}.jsonl.gz"
    if not path.exists():
        write(chain.from_iterable(entries), path)
    print(f'"{path.name}": "{audit_ledger(Archive(path).read()).head_hash.hex()}",')  # noqa: T201


if __name__ == "__main__":
    busy = Busy(7)
    keep("sample", sample_turns())
    keep("busy", chain([busy.open()], busy.turns(150)))
