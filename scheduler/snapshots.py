"""Drafts kept in the ledger's database: a start folds from the newest that fits, or from none."""

from __future__ import annotations

from scheduler.dependencies import Dependencies
from tidegate.contracts.entry import Entry, Snapshot
from tidegate.core import snapshot
from tidegate.core.chain import GENESIS
from tidegate.core.draft import Draft
from tidegate.errors import TidegateError, UndecodableError
from tidegate.replay.rebuild import rebuild
from tidegate.service.logs import get_log

_log = get_log("snapshots")


def restored(deps: Dependencies) -> tuple[Draft, Entry]:
    """Return the draft that the whole ledger gives, and the entry that new ones must follow.

    Synchronous: to be run beside the loop.

    Raises:
        ChainError: the history behind the snapshot was altered.
        UndecodableError: an entry is newer than this version knows.
        LedgerUnreachableError: the database does not answer.
    """
    draft, head = _newest(deps) or (Draft(), GENESIS)
    draft, head = rebuild(deps.ledger.read(head.seq), draft, head)
    if draft.passed_over:
        _log.error("entries passed over", count=draft.passed_over)
    return draft, head


async def keep(deps: Dependencies, draft: Draft, head: Entry) -> None:
    """Write a snapshot; a failure costs the next start some time and nothing else."""
    assert deps.snapshots is not None, "asked for only where there are any"
    assert draft.seq == head.seq, "between turns the draft stands where the ledger stands"
    state = snapshot.encode(draft)
    made = Snapshot(seq=head.seq, version=snapshot.VERSION, state=state, head=head.hash)
    write = deps.snapshots.write
    try:
        await deps.run_sync(lambda: write(made))
    except TidegateError as error:
        _log.warning("not written", seq=head.seq, why=str(error))
    else:
        _log.info("written", seq=head.seq, bytes=len(state))


def _newest(deps: Dependencies) -> tuple[Draft, Entry] | None:
    kept = deps.snapshots.newest(snapshot.VERSION) if deps.snapshots is not None else None
    if kept is None:
        return None
    for entry in deps.ledger.read(kept.seq - 1, kept.seq):
        try:
            return snapshot.decode(kept.state), entry
        except UndecodableError as error:
            _log.warning("not read", seq=kept.seq, why=str(error))
    return None
