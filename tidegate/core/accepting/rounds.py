"""Rounds: lists between SyncStarted and SyncCompleted, whose end alone says what is present.

A round removes an object only if it is not present and not newer than the list: so a lagging
session removes no object that it cannot know of.

A round that began after a version had been observed, and whose list or object is older than that,
shows that the cluster was restored from a backup: its list then replaces everything. (Otherwise a
list requested later cannot be older: ingest requests it once ``SyncStarted`` is stored, and
requests consistent lists.)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tidegate.contracts.facts import FactEvent, GapObserved, RoundCompleted, RoundStarted
from tidegate.contracts.observations import Observed, SyncCompleted, SyncStarted
from tidegate.core.accepting.definitions import remove_definition
from tidegate.core.accepting.jobs.copies import clear_unlisted_strays, remove_unlisted_copies
from tidegate.core.accepting.jobs.observed import remove_job
from tidegate.core.accepting.relevance import (
    CLUSTER_QUEUES,
    are_own_queues_unknown,
    forget_deleted_name,
    known_versions,
    list_version,
    remove_unlisted_foreign,
    round_key,
)
from tidegate.core.members.cluster_status import unrecorded_uid
from tidegate.core.state.dedup import OpenRound
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.state import State
from tidegate.model.clusters import cluster_of

INCOMPLETE_LISTS_MAX = 4
"""How many lists leave a taken tree closed because they lack the observation of a job in it."""
OPEN_ROUNDS_MAX = 256
"""Rounds under way that are remembered, the newest; far above resources times sessions."""


def begin_round(state: State, at_us: int, bracket: SyncStarted) -> Iterator[FactEvent]:
    """Begin a round; yield RoundStarted if it is its resource's first, or first after a loss."""
    open_rounds = state.dedup.open_rounds
    key = round_key(bracket.session, bracket.resource, bracket.round)
    open_rounds.pop(key, None)
    floor, listed = _newest_version(state, bracket.resource), list_version(state, bracket.resource)
    blind = (
        are_own_queues_unknown(state) and definitions_of(state.objects, bracket.resource) is None
    )
    open_rounds[key] = OpenRound(floor=floor, listed=listed, queues_unknown=blind)
    if len(open_rounds) > OPEN_ROUNDS_MAX:
        del open_rounds[next(iter(open_rounds))]
    round_seen = state.rounds.get(bracket.resource)
    if round_seen is None or round_seen.stale:
        yield RoundStarted(
            at_us=at_us,
            resource=bracket.resource,
            session=bracket.session,
            round=bracket.round,
            cluster_uid=unrecorded_uid(state, bracket),
        )


def end_round(
    state: State, at_us: int, bracket: SyncCompleted, seq: int
) -> Iterator[FactEvent | Observed]:
    """Collect a piece of a round's end; with the last piece, yield the facts of the round.

    Yields facts, each to be folded before the next is taken, and observations that were skipped as
    outdated and count after all, to be accepted again. A round without its beginning proves
    nothing, but may be the only sign of a deletion: a gap is recorded, so that a resync follows.
    """
    key = round_key(bracket.session, bracket.resource, bracket.round)
    open_round = state.dedup.open_rounds.get(key)
    if open_round is None:
        if bracket.piece == bracket.pieces:
            yield _gap_fact(at_us, bracket, seq)
        return
    open_round.pieces[bracket.piece] = bracket.present
    if len(open_round.pieces) < bracket.pieces:
        return
    del state.dedup.open_rounds[key]
    present = frozenset(uid for piece in open_round.pieces.values() for uid in piece)
    restored = open_round.restored or bracket.list_version < open_round.floor
    yield from _remove_unlisted(state, at_us, bracket, present, restored=restored)
    reappeared = _has_reappeared(state, bracket, present, restored=restored)
    hidden = _may_hide_object(state, bracket, present, open_round, restored=restored)
    if restored:
        _forget_versions(state, bracket.resource)
    unobserved = not restored and _has_unobserved(state, present)
    if reappeared or hidden or unobserved:
        yield _gap_fact(at_us, bracket, seq)
    _remember_list(state, bracket)
    open_yet = (reappeared or hidden or unobserved) and state.moves.to_adopt  # a tree may lack jobs
    if (restored or not open_yet) and _is_completion_recorded(
        state, bracket, open_round, restored=restored
    ):
        yield _completion_fact(at_us, bracket, restored=restored)
    if restored:  # from here on no known version is newer than this list
        state.dedup.open_rounds[key] = OpenRound(listed=list_version(state, bracket.resource))
        yield from (observed for uid, observed in open_round.skipped.items() if uid in present)
        del state.dedup.open_rounds[key]


def drop_open_rounds(state: State, cluster: str) -> None:
    """Drop the rounds under way of one cluster: a message of its stream was lost."""
    open_rounds = state.dedup.open_rounds
    state.dedup.open_rounds = {
        key: open_round
        for key, open_round in open_rounds.items()
        if cluster_of(key.split(" ")[1]) != cluster
    }


def _newest_version(state: State, resource: str) -> int:
    objects = (version for _, _, version in known_versions(state, resource))
    removals = state.dedup.deleted.get(resource, {}).values()
    return max(chain((list_version(state, resource),), objects, removals))


def _is_completion_recorded(
    state: State, bracket: SyncCompleted, open_round: OpenRound, *, restored: bool
) -> bool:
    """Return whether a list's completion is to be recorded; a blind one requests a resync."""
    if open_round.queues_unknown:  # its jobs were skipped, and may belong to this partition
        state.dedup.needs_resync = True
        return False
    was_completed = _was_completed(state, bracket.resource)
    return restored or not was_completed or state.rounds[bracket.resource].stale


def _was_completed(state: State, resource: str) -> bool:
    round_seen = state.rounds.get(resource)
    return round_seen is not None and round_seen.completed > 0


def _remove_unlisted(
    state: State, at_us: int, bracket: SyncCompleted, present: frozenset[str], *, restored: bool
) -> Iterator[FactEvent]:
    for key, uid, version in list(known_versions(state, bracket.resource)):
        if uid in present or (version > bracket.list_version and not restored):
            continue
        definitions = definitions_of(state.objects, bracket.resource)
        if key in state.copies:
            continue  # see ``remove_unlisted_copies`` below
        if definitions is not None:
            definition = definitions[key]
            yield remove_definition(
                state, at_us, bracket.resource, definition, bracket.list_version
            )
            forget_deleted_name(state, bracket.resource, definition.namespace, definition.name)
        else:
            workload = state.workloads[key]
            yield from remove_job(state, at_us, workload, bracket.list_version)
            forget_deleted_name(state, bracket.resource, workload.job.namespace, workload.job.name)
    if bracket.resource == CLUSTER_QUEUES:
        yield from remove_unlisted_foreign(state, at_us, present, bracket.list_version)
    until = None if restored else bracket.list_version
    yield from remove_unlisted_copies(state, at_us, bracket.resource, present, until)
    yield from clear_unlisted_strays(state, at_us, bracket.resource, present, until)


def _has_reappeared(
    state: State, bracket: SyncCompleted, present: frozenset[str], *, restored: bool
) -> bool:
    # An object counts as deleted, but a list that is newer than that, or as new as the deletion,
    # has it: only a restore does that, and an earlier round missed it. It has to be observed again,
    # as have all objects that a restore brought back and the list's session did not publish.
    reappeared = False
    for removed in (state.dedup.deleted, state.dedup.suspected):
        deleted = removed.get(bracket.resource, {})
        uids = [
            uid
            for uid, at in deleted.items()
            if uid in present
            and (restored or at < bracket.list_version or _was_removed_at(state, bracket, uid))
        ]
        for uid in uids:
            del deleted[uid]
        reappeared = reappeared or bool(uids)
    return reappeared


def _has_unobserved(state: State, present: frozenset[str]) -> bool:
    """Tell whether a list names a job that runs in a tree just taken, without its observation.

    A list that began before its session got the resync request does not publish unchanged objects
    again. A job that no list publishes, such as a refused one, closes a tree for a few lists only.
    """
    dedup, queues = state.dedup, state.objects.cluster_queues
    unobserved = any(
        uid in present and uid not in state.by_uid and running.cluster_queue in queues
        for uid, running in state.moves.to_adopt.items()
    )
    if not unobserved or dedup.incomplete_lists == INCOMPLETE_LISTS_MAX:
        return False
    dedup.incomplete_lists += 1
    return True


def _may_hide_object(
    state: State,
    bracket: SyncCompleted,
    present: frozenset[str],
    open_round: OpenRound,
    *,
    restored: bool,
) -> bool:
    """Tell whether a list's object may stay hidden behind a version from before a restore.

    Such a version may arrive late, while the list is being published: then the list's object is
    skipped, and only a later list shows the restore. A session publishes no version twice, so that
    later list does not publish the object, unless a resync requests it.
    """
    if not (restored or open_round.skipped):  # nearly each list
        return False
    return any(
        uid in present
        and version > bracket.list_version
        and (uid in open_round.skipped) is not restored
        for _, uid, version in known_versions(state, bracket.resource)
    )


def _was_removed_at(state: State, bracket: SyncCompleted, uid: str) -> bool:
    """Tell whether an object was deleted at exactly the version of a list."""
    dedup, listed = state.dedup, bracket.list_version
    removed = dedup.deleted.get(bracket.resource, {}).get(uid) == listed
    return removed and dedup.terminating.get(uid) != listed


def _remember_list(state: State, bracket: SyncCompleted) -> None:
    dedup = state.dedup
    before = dedup.lists.get(bracket.resource, 0)
    for versions_of in (dedup.deleted, dedup.suspected):
        versions = versions_of.get(bracket.resource, {})
        versions_of[bracket.resource] = {uid: at for uid, at in versions.items() if at > before}
    deleted, names = dedup.deleted[bracket.resource], dedup.deleted_names.get(bracket.resource, {})
    dedup.deleted_names[bracket.resource] = {
        name: uid for name, uid in names.items() if uid in deleted
    }
    dedup.terminating = {uid: at for uid, at in dedup.terminating.items() if at > before}
    dedup.lists[bracket.resource] = max(before, bracket.list_version)


def _forget_versions(state: State, resource: str) -> None:
    dedup = state.dedup
    for _, uid, _ in known_versions(state, resource):
        dedup.versions.pop(uid, None)
    dedup.deleted.pop(resource, None)
    dedup.deleted_names.pop(resource, None)
    dedup.suspected.pop(resource, None)
    dedup.lists.pop(resource, None)


def _gap_fact(at_us: int, bracket: SyncCompleted, seq: int) -> GapObserved:
    cluster = cluster_of(bracket.resource)
    return GapObserved(at_us=at_us, expected_seq=seq, found_seq=seq, cluster=cluster)


def _completion_fact(at_us: int, bracket: SyncCompleted, *, restored: bool) -> RoundCompleted:
    return RoundCompleted(
        at_us=at_us,
        resource=bracket.resource,
        session=bracket.session,
        round=bracket.round,
        list_version=bracket.list_version,
        restored=restored,
    )
