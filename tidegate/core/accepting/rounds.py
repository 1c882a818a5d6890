"""Lists in brackets: who is present is what ``SyncCompleted`` says, never what came in between.

A round removes an object only if it is not present and not newer than the list: of two sessions
the one that lags removes nothing that it cannot know of.

A round that began after a version had been told, and whose list or object is older than that, shows
that the cluster was restored from a backup: its list then replaces everything. (A list asked for
later cannot be older otherwise: ingest asks for it once ``SyncStarted`` is stored, and asks for
consistent ones.)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tidegate.contracts.facts import FactEvent, GapObserved, RoundCompleted, RoundStarted
from tidegate.contracts.observations import Observed, SyncCompleted, SyncStarted
from tidegate.core.accepting.definitions import remove_definition
from tidegate.core.accepting.jobs.observed import remove_job
from tidegate.core.accepting.strays import strays_listed
from tidegate.core.accepting.versions import known_versions, list_version, roll_key
from tidegate.core.state.dedup import Roll
from tidegate.core.state.definition_kinds import cq
from tidegate.core.state.state import State

ROLLS_MAX = 256
"""Rounds under way that are remembered, the newest; far above resources times sessions."""


def begin_round(state: State, at_us: int, told: SyncStarted) -> Iterator[FactEvent]:
    """Begin to listen to a list; tell it if it is the first of its resource, or after a loss."""
    rolls = state.heard.rolls
    key = roll_key(told.session, told.resource, told.round)
    rolls.pop(key, None)
    floor, listed = _newest_version(state, told.resource), list_version(state, told.resource)
    rolls[key] = Roll(floor=floor, listed=listed)
    if len(rolls) > ROLLS_MAX:
        del rolls[next(iter(rolls))]
    known = state.rounds.get(told.resource)
    if known is None or known.stale:
        yield RoundStarted(
            at_us=at_us, resource=told.resource, session=told.session, round=told.round
        )


def end_round(
    state: State, at_us: int, told: SyncCompleted, seq: int
) -> Iterator[FactEvent | Observed]:
    """Take a piece of who is present; with the last one, yield what the round changes.

    Yields facts, to be folded before the next is asked for, and observations that were passed over
    as outdated and count after all, to be taken again. A round whose beginning was not heard
    proves nothing, and may be all that tells of a removal: a gap is told, so that a resync follows.
    """
    key = roll_key(told.session, told.resource, told.round)
    roll = state.heard.rolls.get(key)
    if roll is None:
        if told.piece == told.pieces:
            yield GapObserved(at_us=at_us, expected_seq=seq, found_seq=seq)
        return
    roll.pieces[told.piece] = told.present
    if len(roll.pieces) < told.pieces:
        return
    del state.heard.rolls[key]
    present = frozenset(uid for piece in roll.pieces.values() for uid in piece)
    restored = roll.restored or told.list_version < roll.floor
    yield from _remove(state, at_us, told, present, restored=restored)
    came_back = _came_back(state, told, present, restored=restored)
    if restored:
        _forget_versions(state, told.resource)
    if came_back:
        yield GapObserved(at_us=at_us, expected_seq=seq, found_seq=seq)
    _note_list(state, told)
    if restored or not _was_completed(state, told.resource) or state.rounds[told.resource].stale:
        yield _completed(at_us, told, restored=restored)
    if restored:  # of what is known from here on nothing is newer than this list
        state.heard.rolls[key] = Roll(listed=list_version(state, told.resource))
        yield from (seen for uid, seen in roll.passed_over.items() if uid in present)
        del state.heard.rolls[key]


def _newest_version(state: State, resource: str) -> int:
    objects = (version for _, _, version in known_versions(state, resource))
    removals = state.heard.gone.get(resource, {}).values()
    return max(chain((list_version(state, resource),), objects, removals))


def _was_completed(state: State, resource: str) -> bool:
    known = state.rounds.get(resource)
    return known is not None and known.completed > 0


def _remove(
    state: State, at_us: int, told: SyncCompleted, present: frozenset[str], *, restored: bool
) -> Iterator[FactEvent]:
    for key, uid, version in list(known_versions(state, told.resource)):
        if uid in present or (version > told.list_version and not restored):
            continue
        kept = cq(state.objects, told.resource)
        if kept is not None:
            yield remove_definition(state, at_us, told.resource, kept[key], told.list_version)
        else:
            yield from remove_job(state, at_us, state.workloads[key], told.list_version)
    until = None if restored else told.list_version
    yield from strays_listed(state, at_us, told.resource, present, until)


def _came_back(
    state: State, told: SyncCompleted, present: frozenset[str], *, restored: bool
) -> bool:
    # Present in a list newer than what it was taken for dead by, or as new as its removal: only a
    # restore does that, and an earlier round missed it. It has to be told again, as does all that
    # a restore brings back and the list's session, which knew no better, did not tell.
    came_back = False
    for taken in (state.heard.gone, state.heard.doubted):
        dead = taken.get(told.resource, {})
        back = [
            uid
            for uid, at in dead.items()
            if uid in present
            and (restored or at < told.list_version or _was_removed_at(state, told, uid))
        ]
        for uid in back:
            del dead[uid]
        came_back = came_back or bool(back)
    return came_back


def _was_removed_at(state: State, told: SyncCompleted, uid: str) -> bool:
    """Tell whether an object was there no more at the very version of a list."""
    heard, listed = state.heard, told.list_version
    removed = heard.gone.get(told.resource, {}).get(uid) == listed
    return removed and heard.leaving.get(uid) != listed


def _note_list(state: State, told: SyncCompleted) -> None:
    heard = state.heard
    before = heard.lists.get(told.resource, 0)
    for dead in (heard.gone, heard.doubted):
        kept = dead.get(told.resource, {})
        dead[told.resource] = {uid: at for uid, at in kept.items() if at > before}
    gone, names = heard.gone[told.resource], heard.gone_names.get(told.resource, {})
    heard.gone_names[told.resource] = {name: uid for name, uid in names.items() if uid in gone}
    heard.leaving = {uid: at for uid, at in heard.leaving.items() if at > before}
    heard.lists[told.resource] = max(before, told.list_version)


def _forget_versions(state: State, resource: str) -> None:
    heard = state.heard
    for _, uid, _ in known_versions(state, resource):
        heard.versions.pop(uid, None)
    heard.gone.pop(resource, None)
    heard.gone_names.pop(resource, None)
    heard.doubted.pop(resource, None)
    heard.lists.pop(resource, None)


def _completed(at_us: int, told: SyncCompleted, *, restored: bool) -> RoundCompleted:
    return RoundCompleted(
        at_us=at_us,
        resource=told.resource,
        session=told.session,
        round=told.round,
        list_version=told.list_version,
        restored=restored,
    )
