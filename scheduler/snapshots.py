"""States kept in the ledger's database: a start folds from the newest that fits, or from none."""

from __future__ import annotations

from msgspec import structs

from scheduler.dependencies import Dependencies
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry, Snapshot
from tidegate.core.folding import snapshot
from tidegate.core.state.state import State
from tidegate.errors import TidegateError, UndecodableError
from tidegate.replay.rebuild import rebuild
from tidegate.service.logs import get_log

_log = get_log("snapshots")


def restore_state(deps: Dependencies) -> tuple[State, Entry]:
    """Return the state that the whole ledger gives, and the entry that new ones must follow.

    Synchronous: to be run beside the loop.

    Raises:
        ChainError: the history behind the snapshot was altered.
        UndecodableError: an entry is newer than this version knows.
        LedgerUnreachableError: the database does not answer.
    """
    genesis = structs.replace(GENESIS, partition=deps.partition)
    state, head = _newest(deps) or (State(), genesis)
    state, head = rebuild(deps.ledger.read(head.seq), state, head)
    if state.passed_over:
        _log.error("entries passed over", count=state.passed_over)
    return state, head


async def write_snapshot(deps: Dependencies, state: State, head: Entry) -> None:
    """Write a snapshot; a failure costs the next start some time and nothing else."""
    assert deps.snapshots is not None, "asked for only where there are any"
    assert state.seq == head.seq, "between turns the state stands where the ledger stands"
    write = deps.snapshots.write
    try:
        encoded = snapshot.write(state)
        taken_snapshot = Snapshot(
            seq=head.seq, version=snapshot.VERSION, state=encoded, head=head.hash
        )
        await deps.run_sync(lambda: write(taken_snapshot))
    except (TidegateError, OverflowError) as error:  # a sum of absurd requests has too many digits
        _log.warning("not written", seq=head.seq, why=str(error))
    else:
        _log.info("written", seq=head.seq, bytes=len(encoded))


def _newest(deps: Dependencies) -> tuple[State, Entry] | None:
    newest = deps.snapshots.newest(snapshot.VERSION) if deps.snapshots is not None else None
    if newest is None:
        return None
    for entry in deps.ledger.read(newest.seq - 1, newest.seq):
        try:
            return snapshot.decode(newest.state), entry
        except UndecodableError as error:
            _log.warning("not read", seq=newest.seq, why=str(error))
    return None
