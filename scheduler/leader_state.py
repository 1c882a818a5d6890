"""A leader's state in one term, and how it is rebuilt: from the ledger alone.

Between ``accept`` and the commit the state is ahead of the ledger: after a failure there the leader
state must be thrown away (``sound`` is False). Everywhere else it stands where the ledger stands,
and a failure of the bus may be waited out.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from msgspec.structs import replace

from scheduler.binding import Bound, check_binding, is_tail, newest_own_seq
from scheduler.dependencies import Dependencies
from scheduler.events_retention import CHUNK_ENTRIES, window_begin
from scheduler.members import MemberStreams, members_of
from scheduler.snapshots import restore_state
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.contracts.facts import FactEvent, LedgerOpened, PolicyConfigured
from tidegate.core.decide import VERSION
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.errors import BusUnreachableError, LostTailError, PublishRefusedError
from tidegate.service.logs import get_log

TRIES_MAX = 5
_log = get_log("leader")


@dataclass(slots=True)
class LeaderState:
    """One term's state."""

    deps: Dependencies
    epoch: int
    state: State
    head: Entry
    counts: Position  # EVENTS: its incarnation, and stream sequence minus ledger seq
    committed: Position  # of OBSERVATIONS, in the ledger
    accepted: Position  # of OBSERVATIONS, in the state
    published: int  # the newest ledger seq that EVENTS is known to hold
    seen: int  # the same when EVENTS was looked at last
    seen_s: float  # the loop's time of that
    moved_s: float  # the loop's time of the last commit
    kept: int  # the ledger seq from which the next snapshot is counted
    members: MemberStreams = field(default_factory=MemberStreams)
    forgotten: Position = field(default_factory=Position)  # the last up to which the bus dropped
    unforgotten: int = 0  # accepted observations since then
    unforgotten_bytes: int = 0
    took_s: float = 0.0  # of the newest turn, from its observations to its end
    more: bool = True  # deciding may not have come to its end
    sound: bool = True  # the state stands where the ledger stands
    handed_s: float = -math.inf  # the loop's time at which released trees were published last
    stood: bool = False  # EVENTS was compared with the ledger in this term

    @property
    def read_count(self) -> int:
        """Return how many observations were ever accepted, by the positions of all streams."""
        return self.accepted.seq + self.members.read_count


async def open_leader_state(deps: Dependencies, term: Term) -> LeaderState:
    """Rebuild the state of a term just begun, and publish what EVENTS lacks.

    Raises:
        LostTailError: EVENTS holds entries that the ledger does not have.
        OtherClusterError, OtherLedgerError: the bus belongs to another.
        FencedError: a newer term has begun meanwhile.
        ChainError: the ledger's history was altered.
        BusUnreachableError, LedgerUnreachableError, CommitUnknownError: try again.
    """
    state, head = await deps.run_sync(lambda: restore_state(deps))
    now_s = asyncio.get_running_loop().time()
    leader = LeaderState(
        deps=deps,
        epoch=term.epoch,
        state=state,
        head=head,
        counts=term.events,
        committed=term.observations,
        accepted=term.observations,
        published=0,
        seen=head.seq,
        seen_s=now_s,
        moved_s=now_s,
        kept=head.seq,
        members=members_of(deps.members, term.members),
    )
    await check_binding(deps.register, state)
    await catch_up(leader)
    return leader


def first_facts(leader: LeaderState, bound: Bound) -> list[FactEvent]:
    """Fold and return a term's first facts: a new ledger's name, a changed configuration.

    The time of genesis is the bus's, when EVENTS was made: the scheduler has no clock.
    """
    facts, deps, state = list[FactEvent](), leader.deps, leader.state
    if leader.head.seq == 0:
        opened = LedgerOpened(
            at_us=leader.counts.incarnation,
            ledger_id=deps.new_ledger_id(),
            cluster=deps.cluster,
            partition=deps.partition,
            cluster_uid=bound.cluster_uid,
            streams=bound.streams,
            software=deps.software,
        )
        facts.append(opened)
    at_us = max(state.now_us, *(fact.at_us for fact in facts), 0)
    policy = replace(deps.policy, rules=VERSION)
    if leader.head.seq == 0 or state.policy != policy:
        facts.append(PolicyConfigured(at_us=at_us, name="tidegate", policy=policy))
    for fact in facts:
        apply(state, fact)
    return facts


async def publish(leader: LeaderState, entries: Sequence[Entry]) -> None:
    """Publish the committed entries; after a refusal read the state of EVENTS and go on from there.

    Raises:
        FencedError: another term has begun: stand by.
        LostTailError: EVENTS holds entries that the ledger does not have.
        BusUnreachableError, LedgerUnreachableError: what is missing can be published later.
    """
    if leader.published == leader.head.seq:
        return
    if not entries or leader.published != entries[0].seq - 1:
        await catch_up(leader)
        return
    try:
        await leader.deps.event_publisher.publish(leader.state.ledger_id, leader.counts, entries)
        leader.published = entries[-1].seq
    except (PublishRefusedError, BusUnreachableError):
        leader.deps.status.refusals.inc()
        await catch_up(leader)


async def publish_missing(leader: LeaderState) -> None:
    """Publish what an earlier turn could not, and now and then what EVENTS has lost since.

    A publisher learns of a loss; an idle ledger would not. Raises what
    ``publish`` does.
    """
    if leader.published == leader.head.seq:
        now_s = asyncio.get_running_loop().time()
        if now_s - leader.seen_s < leader.deps.pace.look_s:
            return
        as_left = await leader.deps.event_publisher.last_published(leader.counts) == (
            leader.published,
            leader.counts,
        )
        if as_left and not await _is_emptied(leader, leader.published):
            leader.seen, leader.seen_s = leader.published, now_s
            return
    await catch_up(leader)


async def catch_up(leader: LeaderState) -> None:
    """Publish everything that EVENTS lacks, if we still lead; see ``publish``."""
    for _ in range(TRIES_MAX):
        await _read_stream_state(leader)
        try:
            await _publish_rest(leader)
        except PublishRefusedError:  # the answer to our own batch was lost
            leader.deps.status.refusals.inc()
        else:
            leader.seen, leader.seen_s = leader.published, asyncio.get_running_loop().time()
            leader.stood = True
            return
    raise BusUnreachableError("EVENTS keeps refusing what the ledger holds.")


async def _read_stream_state(leader: LeaderState) -> None:
    """Read how far EVENTS is; a stream that was lost as a whole is to be published again.

    That is so for a stream made anew, and for one that was emptied. A new ledger starts after the
    old ledger's last published event and adopts its running jobs.
    """
    last, counts = await leader.deps.event_publisher.last_published(leader.counts)
    anew = leader.counts.incarnation not in (0, counts.incarnation) or leader.head.seq == 0
    tail = await _tail_of_new(leader, last, counts) if anew else None
    if tail is not None:
        last, counts = tail
    elif (
        (anew and not await _is_filled(leader, last, counts))
        or last < 0
        or await _is_emptied(leader, last)
    ):
        end = last + counts.seq
        last = await _window_begin(leader)
        counts = Position(counts.incarnation, end - last)
        if last < leader.head.seq:
            _log.warning("EVENTS was lost: it is filled again", first=last + 1)
    else:
        last, counts = await _published_end(leader, last, counts)
    # Also the question whether we lead: a writer that was replaced must not publish.
    positions = Positions(events=counts if counts != leader.counts else None)
    head, epoch, append = leader.head.seq, leader.epoch, leader.deps.ledger.append
    await leader.deps.run_sync(lambda: append(epoch, head, [], positions))
    leader.counts = counts
    if last > head:
        raise LostTailError(head, last)
    leader.published = last


async def _published_end(leader: LeaderState, last: int, counts: Position) -> tuple[int, Position]:
    """Return how far EVENTS holds the ledger's own entries, and how it counts behind the forged.

    Only this term's writer publishes, so within the term all else is forged. At its beginning
    what follows from the ledger's end is a tail that the ledger lost, and counts as EVENTS' own.
    """
    deps, head = leader.deps, leader.head
    own = await newest_own_seq(deps, head, last, counts)
    if own == last:
        return last, counts
    if not leader.stood and await is_tail(deps, head, last, counts, leader.state.ledger_id):
        return last, counts
    end = last + counts.seq
    deps.status.forged.inc(last - own)
    _log.error("EVENTS holds forged events", behind_seq=own, until_stream_sequence=end)
    return own, Position(counts.incarnation, end - own)


async def _tail_of_new(
    leader: LeaderState, last: int, counts: Position
) -> tuple[int, Position] | None:
    """Return the end of a tail that the ledger lost, and how a stream made anew counts; None: none.

    A backup of the ledger may be older than the stream, which it then does not know.
    """
    deps, head, ledger_id = leader.deps, leader.head, leader.state.ledger_id
    if leader.stood or last <= 0 or head.seq == 0:
        return None
    newest = await deps.event_publisher.message_at(counts, last)
    if newest is None or newest.ledger_id != ledger_id or newest.seq <= head.seq:
        return None
    end = Position(counts.incarnation, last + counts.seq - newest.seq)
    return (newest.seq, end) if await is_tail(deps, head, newest.seq, end, ledger_id) else None


async def _is_filled(leader: LeaderState, last: int, counts: Position) -> bool:
    """Return whether a recreated stream holds all that it should: we did not know that it is new.

    What was under way to the former one was stored in this one: its fence held there, too.
    """
    deps = leader.deps
    if (
        not 0 < last <= leader.head.seq
        or await deps.event_publisher.message_at(counts, last) is None
    ):
        return False
    if await newest_own_seq(deps, leader.head, last, counts) != last:
        return False
    return last - await deps.event_publisher.message_count() <= await _window_begin(leader)


async def _is_emptied(leader: LeaderState, last: int) -> bool:
    """Return whether EVENTS lost messages since the last look, before they had expired."""
    if not 0 < last <= leader.head.seq:
        return False
    backlog, since = await leader.deps.event_publisher.message_count(), max(0, last - leader.seen)
    return backlog <= since and await _window_begin(leader) < last - backlog


async def _window_begin(leader: LeaderState) -> int:
    """Return behind which seq EVENTS would begin that had lost nothing."""
    deps, head = leader.deps, leader.head
    now_us = max(leader.state.now_us, deps.status.heard_us)
    return await deps.run_sync(lambda: window_begin(deps.ledger.read, head, deps.window, now_us))


async def _publish_rest(leader: LeaderState) -> None:
    read, publisher = leader.deps.ledger.read, leader.deps.event_publisher
    while leader.published < leader.head.seq:
        after = leader.published
        until = min(after + CHUNK_ENTRIES, leader.head.seq)
        entries = await leader.deps.run_sync(
            lambda: list(islice(read(after, until), until - after))  # noqa: B023 - awaited here
        )
        await publisher.publish(leader.state.ledger_id, leader.counts, entries)
        leader.published = entries[-1].seq
        leader.deps.status.record_turn_end()  # a long way is no standstill
