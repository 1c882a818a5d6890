"""One turn of the scheduler: pull, accept and fold, decide, append, publish, forget.

The order is the safety argument: nothing is published before it is in the ledger, and the bus
forgets nothing before that. After a crash ``open_desk`` publishes the rest and reads on from the
ledger's position. The bus forgets many observations at once, and all whenever there is nothing to
read: a full bus may hold only what is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from scheduler.binding import Bound, learn
from scheduler.desk import Desk, look, opening, publish
from scheduler.snapshots import keep
from tidegate.bus.register import LEDGER
from tidegate.contracts.entry import Message, Positions
from tidegate.contracts.facts import Event, FactEvent
from tidegate.contracts.reception import GapObserved, StreamReplaced
from tidegate.core.accept import accept
from tidegate.core.chain import seal
from tidegate.core.rules import decide
from tidegate.errors import TidegateError, TooLargeError

DECISIONS_MAX = 1_000
"""In one turn; the rest follows in the next ones. An audit decides again at the same bound."""


async def first_turn(desk: Desk) -> int:
    """Write what a term must tell before it reads; return how many entries were written.

    A ledger that begins asks to be told everything: ingest may have told it to one that was lost,
    and the stream, if that was lost too, shows no gap.

    Raises:
        Whatever ``turn`` raises.
    """
    register, bound = desk.means.register, Bound()
    if desk.head.seq == 0:
        bound = await learn(register)
        await desk.means.inbox.ask_resync("a new ledger begins")
        desk.means.status.resyncs.inc()
    desk.sound = False
    facts = opening(desk, bound)
    if bound.cluster_uid and register is not None:
        await register.put(LEDGER, desk.draft.ledger_id)
    return await _write(desk, facts)


async def turn(desk: Desk) -> int:
    """Run one turn and return how many entries it wrote.

    Raises:
        FencedError, SequenceConflictError: another term has begun: stand by.
        LostTailError: EVENTS is ahead of the ledger: do not lead.
        CommitUnknownError, LedgerUnreachableError: open a new desk.
        BusUnreachableError: if the desk is still sound, try again; else open a new one.
        PoisonedTurnError: open a new desk; what is to blame is refused then, or found.
    """
    means, pace = desk.means, desk.means.pace
    await look(desk)
    wait_s = 0.0 if desk.more else pace.wait_s
    count_max = means.poison.count_max(desk.accepted, pace.messages_max)
    told = await means.inbox.pull(desk.accepted, count_max=count_max, wait_s=wait_s)
    means.traces.heard(told)
    desk.sound = False
    try:
        written = await _taken(desk, told)
    except TidegateError as error:
        if not isinstance(error, TooLargeError):
            raise
        raise means.poison.blame(told, error) from error
    except Exception as error:
        raise means.poison.blame(told, error) from error
    await _forget(desk, told)
    if means.snapshots is not None and desk.head.seq - desk.kept >= pace.snapshot_entries:
        desk.kept = desk.head.seq
        await keep(means, desk.draft, desk.head)
    return written


async def _taken(desk: Desk, told: Sequence[Message]) -> int:
    means, before = desk.means, desk.accepted
    facts, desk.accepted = accept(desk.draft, before, told, means.poison.refused)
    means.status.read(len(told), before, moved=desk.accepted != before)
    if told:
        means.status.heard_us = told[-1].at_us
    if loss := _loss(facts):
        # Asked before the loss is committed: who crashes here meets it again, and asks again.
        await means.inbox.ask_resync(loss)
        means.status.resyncs.inc()
    return await _write(desk, facts)


async def _forget(desk: Desk, told: Sequence[Message]) -> None:
    """Make room on the bus, once for many observations: a purge costs as much as a hundred."""
    pace = desk.means.pace
    desk.unforgotten += len(told)
    desk.unforgotten_bytes += sum(len(one.payload) for one in told)
    due = (
        not told
        or desk.unforgotten >= pace.forget_messages
        or desk.unforgotten_bytes >= pace.forget_bytes
    )
    if due:
        await desk.means.inbox.forget(desk.committed)
        desk.unforgotten, desk.unforgotten_bytes = 0, 0


async def _write(desk: Desk, facts: Sequence[FactEvent]) -> int:
    means, loop = desk.means, asyncio.get_running_loop()
    status, began_s = means.status, loop.time()
    events: list[Event] = [*facts]
    if facts or desk.more:
        decisions = decide(desk.draft, decisions_max=DECISIONS_MAX)
        desk.more = len(decisions) >= DECISIONS_MAX
        status.meter.attempted(decisions, loop.time() - began_s)
        events += decisions
    decided_s = loop.time()
    entries = seal(desk.head, desk.epoch, means.cluster, events)
    moved = desk.accepted != desk.committed
    if entries or (moved and loop.time() - desk.moved_s >= means.pace.wait_s):
        positions = Positions(observations=desk.accepted if moved else None)
        epoch, after, append = desk.epoch, desk.head.seq, means.ledger.append
        await means.run_sync(lambda: append(epoch, after, entries, positions))
        desk.committed, desk.moved_s = desk.accepted, loop.time()
    desk.head = entries[-1] if entries else desk.head
    desk.sound = True
    status.wrote(desk, entries, events)
    committed_s = loop.time()
    with means.traces.publishing(entries, events):
        await publish(desk, entries)
    if entries:
        status.spent("decide", decided_s - began_s)
        status.spent("commit", committed_s - decided_s)
        status.spent("publish", loop.time() - committed_s)
        status.published(desk, loop.time() - began_s)
    return len(entries)


def _loss(facts: Sequence[FactEvent]) -> str:
    """Return why ingest must tell everything again; empty if it need not."""
    for fact in facts:
        if isinstance(fact, GapObserved):
            last = fact.found_seq - 1
            if last < fact.expected_seq:
                return f"of the round that observation {last + 1} ends the start was not told"
            return f"observations {fact.expected_seq} to {last} are missing"
        if isinstance(fact, StreamReplaced):
            return "the stream of observations was made anew"
    return ""
