"""What one term of a scheduler holds, and how it comes by it: rebuilt from the ledger alone.

The draft belongs to the desk. Between ``accept`` and the commit it is ahead of the ledger; whoever
fails there must throw the desk away (``sound`` says so). Everywhere else it stands where the ledger
stands, and a failure of the bus may be waited out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec.structs import replace

from scheduler.binding import Bound, confirm
from scheduler.means import Means
from scheduler.snapshots import restored
from scheduler.window import CHUNK_ENTRIES, begin
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.contracts.facts import FactEvent, LedgerOpened, PolicyConfigured
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.core.rules import VERSION
from tidegate.errors import BusUnreachableError, LostTailError, PublishRefusedError
from tidegate.service.logs import get_log

TRIES_MAX = 5
_log = get_log("desk")


@dataclass(slots=True)
class Desk:
    """One term's state."""

    means: Means
    epoch: int
    draft: Draft
    head: Entry
    counts: Position  # EVENTS: its incarnation, and stream sequence minus ledger seq
    committed: Position  # of OBSERVATIONS, in the ledger
    accepted: Position  # of OBSERVATIONS, in the draft
    published: int  # the newest ledger seq that EVENTS is known to hold
    seen: int  # the same when EVENTS was looked at last
    seen_s: float  # the loop's time of that
    moved_s: float  # the loop's time of the last commit
    kept: int  # the ledger seq from which the next snapshot is counted
    unforgotten: int = 0  # observations taken in since the bus was told to forget
    unforgotten_bytes: int = 0
    more: bool = True  # deciding may not have come to its end
    sound: bool = True  # the draft stands where the ledger stands


async def open_desk(means: Means, term: Term) -> Desk:
    """Rebuild the draft of a term just begun, and publish what EVENTS lacks.

    Raises:
        LostTailError: EVENTS holds entries that the ledger does not have.
        OtherClusterError, OtherLedgerError: the bus belongs to another.
        FencedError: a newer term has begun meanwhile.
        ChainError: the ledger's history was altered.
        BusUnreachableError, LedgerUnreachableError, CommitUnknownError: try again.
    """
    draft, head = await means.run_sync(lambda: restored(means))
    now_s = asyncio.get_running_loop().time()
    desk = Desk(
        means=means,
        epoch=term.epoch,
        draft=draft,
        head=head,
        counts=term.events,
        committed=term.observations,
        accepted=term.observations,
        published=0,
        seen=head.seq,
        seen_s=now_s,
        moved_s=now_s,
        kept=head.seq,
    )
    await confirm(means.register, draft)
    await catch_up(desk)
    return desk


def opening(desk: Desk, bound: Bound) -> list[FactEvent]:
    """Fold and return what a term must tell first: a new ledger's name, another configuration.

    The time of genesis is the bus's, when EVENTS was made: the scheduler has no clock.
    """
    facts, means, draft = list[FactEvent](), desk.means, desk.draft
    if desk.head.seq == 0:
        opened = LedgerOpened(
            at_us=desk.counts.incarnation,
            ledger_id=means.new_ledger_id(),
            cluster=means.cluster,
            cluster_uid=bound.cluster_uid,
            streams=bound.streams,
            software=means.software,
        )
        facts.append(opened)
    at_us = max(draft.now_us, *(fact.at_us for fact in facts), 0)
    policy = replace(means.policy, rules=VERSION)
    if desk.head.seq == 0 or draft.policy != policy:
        facts.append(PolicyConfigured(at_us=at_us, name="tidegate", policy=policy))
    for fact in facts:
        apply(draft, fact)
    return facts


async def publish(desk: Desk, entries: Sequence[Entry]) -> None:
    """Publish what was just committed; after a refusal see how things stand and go on from there.

    Raises:
        FencedError: another term has begun: stand by.
        LostTailError: EVENTS holds entries that the ledger does not have.
        BusUnreachableError, LedgerUnreachableError: what is missing can be published later.
    """
    if desk.published == desk.head.seq:
        return
    if not entries or desk.published != entries[0].seq - 1:
        await catch_up(desk)
        return
    try:
        await desk.means.outbox.publish(desk.draft.ledger_id, desk.counts, entries)
        desk.published = entries[-1].seq
    except (PublishRefusedError, BusUnreachableError):
        desk.means.status.refusals.inc()
        await catch_up(desk)


async def look(desk: Desk) -> None:
    """Publish what an earlier turn could not, and now and then what EVENTS has lost since.

    Whoever publishes is told of a loss; where nothing happens, nobody else would be. Raises what
    ``publish`` does.
    """
    if desk.published == desk.head.seq:
        now_s = asyncio.get_running_loop().time()
        if now_s - desk.seen_s < desk.means.pace.look_s:
            return
        as_left = await desk.means.outbox.last(desk.counts) == (desk.published, desk.counts)
        if as_left and not await _is_emptied(desk, desk.published):
            desk.seen, desk.seen_s = desk.published, now_s
            return
    await catch_up(desk)


async def catch_up(desk: Desk) -> None:
    """Publish everything that EVENTS lacks, if we still lead; see ``publish``."""
    for _ in range(TRIES_MAX):
        await _stand(desk)
        try:
            await _publish_rest(desk)
        except PublishRefusedError:  # the answer to our own batch was lost
            desk.means.status.refusals.inc()
        else:
            desk.seen, desk.seen_s = desk.published, asyncio.get_running_loop().time()
            return
    raise BusUnreachableError("EVENTS keeps refusing what the ledger holds.")


async def _stand(desk: Desk) -> None:
    """Learn how far EVENTS is; what was lost as a whole is to be published again.

    That is so for a stream made anew, and for one that was emptied. A ledger made anew begins
    behind what the stream holds of another, that was lost. What that one had started is adopted.
    """
    last, counts = await desk.means.outbox.last(desk.counts)
    anew = desk.counts.incarnation not in (0, counts.incarnation) or desk.head.seq == 0
    if anew or last < 0 or await _is_emptied(desk, last):
        end = last + counts.seq
        last = await _window(desk)
        counts = Position(counts.incarnation, end - last)
        if last < desk.head.seq:
            _log.warning("EVENTS was lost: it is filled again", first=last + 1)
    # Also the question whether we lead: a writer that was replaced must not publish.
    positions = Positions(events=counts if counts != desk.counts else None)
    head, epoch, append = desk.head.seq, desk.epoch, desk.means.ledger.append
    await desk.means.run_sync(lambda: append(epoch, head, [], positions))
    desk.counts = counts
    if last > head:
        raise LostTailError(head, last)
    desk.published = last


async def _is_emptied(desk: Desk, last: int) -> bool:
    """Tell whether what EVENTS held when it was looked at is gone, before its time had come."""
    if not 0 < last <= desk.head.seq:
        return False
    held, since = await desk.means.outbox.count(), max(0, last - desk.seen)
    return held <= since and await _window(desk) < last - held


async def _window(desk: Desk) -> int:
    """Return behind which seq EVENTS would begin that had lost nothing."""
    means, head = desk.means, desk.head
    now_us = max(desk.draft.now_us, means.status.heard_us)
    return await means.run_sync(lambda: begin(means.ledger.read, head, means.window, now_us))


async def _publish_rest(desk: Desk) -> None:
    read, outbox = desk.means.ledger.read, desk.means.outbox
    while desk.published < desk.head.seq:
        after = desk.published
        until = min(after + CHUNK_ENTRIES, desk.head.seq)
        entries = await desk.means.run_sync(lambda: list(islice(read(after, until), until - after)))  # noqa: B023 - awaited here
        await outbox.publish(desk.draft.ledger_id, desk.counts, entries)
        desk.published = entries[-1].seq
        desk.means.status.turned()  # a long way is no standstill
