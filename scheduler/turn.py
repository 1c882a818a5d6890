"""One turn of the scheduler: pull, accept and fold, decide, append, publish, forget.

The order is the safety argument: nothing is published before it is in the ledger, and the bus
forgets nothing before that. After a crash ``open_leader_state`` publishes the rest and reads on
from the ledger's position. The bus forgets many observations at once, and all whenever there is
nothing to read: a full bus may hold only what is known.

Trees that move to other partitions are published behind their events, again until that is
confirmed: both sides recognise what they have received before by ledger id and seq of the release.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from scheduler.binding import Bound, read_binding
from scheduler.dependencies import Pace
from scheduler.leader_state import LeaderState, first_facts, publish, publish_missing
from scheduler.members import OWN, begin_members, pull_all
from scheduler.poison import Batch
from scheduler.snapshots import write_snapshot
from tidegate.bus.jetstream.keys import ledger_key
from tidegate.bus.ports import ObservationReader
from tidegate.contracts.chain import seal
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Position, Positions
from tidegate.contracts.fact_kinds.reception import GapObserved, StreamReplaced
from tidegate.contracts.facts import Event, FactEvent
from tidegate.contracts.observed.handovers import HandoverObserved, TreeReleasedObserved
from tidegate.contracts.subjects import observed_subject
from tidegate.core.accept import accept
from tidegate.core.accepting.handovers import unconfirmed_releases
from tidegate.core.decide import decide
from tidegate.errors import (
    BusRefusedError,
    BusUnreachableError,
    TidegateError,
    TooLargeError,
    UnstorableValueError,
)
from tidegate.service.logs import get_log

DECISIONS_MAX = 1_000
"""In one turn; the rest follows in the next ones. An audit decides again at the same bound."""
HANDOVERS = "handovers"
AGAIN_S = 5.0
"""The interval at which a released tree is published again until its new partition takes it."""
_log = get_log("handovers")


async def run_first_turn(leader: LeaderState) -> int:
    """Write a term's first entries before it reads; return how many were written.

    A ledger that has read nothing yet requests a full resync: ingest may have sent it to one
    that was lost, or into a stream that was, and a stream that is new to it shows no gap. It reads
    the answer alone where another has read before: a list that was asked for before the last
    decisions of that one would pass for the first, and what they started would not be adopted.

    Raises:
        Whatever ``turn`` raises.
    """
    register, bound = leader.deps.register, Bound()
    if leader.head.seq == 0:
        bound = await read_binding(register)
    if leader.accepted == Position():
        leader.accepted = await leader.deps.observation_reader.start_position()
        await _request_resync(leader, OWN, "nothing has been read yet")
    elif leader.deps.partition or leader.state.objects.elsewhere:
        await _request_resync(leader, OWN, "which jobs other partitions had is not remembered")
    await begin_members(leader.members, leader.deps)
    leader.sound = False
    facts = first_facts(leader, bound)
    if bound.cluster_uid and register is not None:
        await register.put(ledger_key(leader.deps.partition), leader.state.ledger_id)
    return await _write_turn(leader, facts)


async def run_turn(leader: LeaderState) -> int:
    """Run one turn and return how many entries it wrote.

    Raises:
        FencedError, SequenceConflictError: another term has begun: stand by.
        LostTailError: EVENTS is ahead of the ledger: do not lead.
        CommitUnknownError, LedgerUnreachableError: open a new leader state.
        BusUnreachableError: if the leader state is sound, try again; else open a new one.
        PoisonedTurnError: open a new one; what is to blame is refused then, or found.
    """
    deps, pace = leader.deps, leader.deps.pace
    await publish_missing(leader)
    wait_s = 0.0 if leader.more else pace.wait_s
    batches = await pull_all(leader.members, deps, leader.accepted, wait_s)
    began_s = asyncio.get_running_loop().time()
    deps.traces.remember_contexts([message for batch in batches for message in batch.messages])
    leader.sound = False
    try:
        written = await _accept_batches(leader, batches)
    except TidegateError as error:
        if not isinstance(error, TooLargeError | UnstorableValueError):
            raise
        raise deps.poison.record_failure(batches, error) from error
    except Exception as error:
        raise deps.poison.record_failure(batches, error) from error
    await _publish_handovers(leader)
    await _purge_committed(leader, batches)
    if deps.snapshots is not None and leader.head.seq - leader.kept >= _snapshot_interval(
        leader, pace
    ):
        leader.kept = leader.head.seq
        await write_snapshot(deps, leader.state, leader.head)
    leader.took_s = asyncio.get_running_loop().time() - began_s
    return written


def _snapshot_interval(leader: LeaderState, pace: Pace) -> int:
    """Return how many entries lie between two snapshots: each costs with what the state holds."""
    return max(pace.snapshot_entries, 2 * len(leader.state.workloads))


async def _accept_batches(leader: LeaderState, batches: Sequence[Batch]) -> int:
    facts = list[FactEvent]()
    for batch in batches:
        news = _accept_batch(leader, batch)
        facts += news
        if loss := _resync_reason(news):
            # Requested before the loss is committed: after a crash here the loss is met, and
            # requested, again.
            await _request_resync(leader, batch.cluster, loss)
    if leader.state.dedup.needs_resync:
        await _request_resync(leader, OWN, "LocalQueues lead to this partition that led to another")
        leader.state.dedup.needs_resync = False
    return await _write_turn(leader, facts)


async def _request_resync(leader: LeaderState, cluster: str, reason: str) -> None:
    await _reader_of(leader, cluster).request_resync(reason)
    leader.deps.status.resyncs.inc()


def _accept_batch(leader: LeaderState, batch: Batch) -> list[FactEvent]:
    """Fold the observations of one stream into the state; return the facts."""
    deps, messages = leader.deps, batch.messages
    refused = deps.poison.refused_reasons(batch.cluster)
    if batch.cluster != OWN:
        member = leader.members.by_name[batch.cluster]
        facts, member.accepted = accept(
            leader.state, member.accepted, messages, refused, cluster=batch.cluster
        )
        deps.status.observations.inc(len(messages))
        return facts
    before = leader.accepted
    facts, leader.accepted = accept(leader.state, before, messages, refused)
    deps.status.record_read(len(messages), before, moved=leader.accepted != before)
    if messages:
        deps.status.heard_us = messages[-1].at_us
    return facts


def _reader_of(leader: LeaderState, cluster: str) -> ObservationReader:
    return (
        leader.members.by_name[cluster].inbox if cluster != OWN else leader.deps.observation_reader
    )


async def _purge_committed(leader: LeaderState, batches: Sequence[Batch]) -> None:
    """Purge committed observations, many at once: a purge costs as much as a hundred of them."""
    pace = leader.deps.pace
    for cluster, messages in batches:
        stream = leader if cluster == OWN else leader.members.by_name[cluster]
        stream.unforgotten += len(messages)
        stream.unforgotten_bytes += sum(len(message.payload) for message in messages)
        enough = (
            not messages
            or stream.unforgotten >= pace.forget_messages
            or stream.unforgotten_bytes >= pace.forget_bytes
        )
        position = stream.committed
        if enough and position != stream.forgotten and await _purge(leader, cluster, position):
            stream.forgotten, stream.unforgotten, stream.unforgotten_bytes = position, 0, 0


async def _purge(leader: LeaderState, cluster: str, position: Position) -> bool:
    """Purge committed observations from a stream; tell whether that succeeded.

    A member's that fails is tried again later. The own cluster's stream forgets what every
    partition with a leader has committed, so the last of them to commit makes it forget all: a
    partition that is led again later finds a gap.
    """
    try:
        if cluster == OWN:
            lowest = leader.deps.ledger.purge_limit
            position = await leader.deps.run_sync(lambda: lowest(leader.committed))
        await _reader_of(leader, cluster).purge_through(position)
    except (BusRefusedError, BusUnreachableError):
        if cluster == OWN:
            raise
        return False
    return True


async def _write_turn(leader: LeaderState, facts: Sequence[FactEvent]) -> int:
    deps, loop = leader.deps, asyncio.get_running_loop()
    status, began_s = deps.status, loop.time()
    events: list[Event] = [*facts]
    if facts or leader.more:
        decisions = decide(leader.state, decisions_max=DECISIONS_MAX)
        leader.more = len(decisions) >= DECISIONS_MAX
        status.meter.count_cycle(decisions, loop.time() - began_s)
        events += decisions
    decided_s = loop.time()
    entries = seal(leader.head, leader.epoch, deps.cluster, events)
    moved, others = leader.accepted != leader.committed, leader.members.uncommitted_positions()
    if entries or ((moved or others) and loop.time() - leader.moved_s >= deps.pace.wait_s):
        own = leader.accepted if moved else None
        positions = Positions(observations=own, members=others)
        epoch, after, append = leader.epoch, leader.head.seq, deps.ledger.append
        await deps.run_sync(lambda: append(epoch, after, entries, positions))
        leader.committed, leader.moved_s = leader.accepted, loop.time()
        leader.members.mark_committed()
    leader.head = entries[-1] if entries else leader.head
    leader.sound = True
    status.record_commit(leader, entries, events)
    committed_s = loop.time()
    with deps.traces.publish_spans(entries, events):
        await publish(leader, entries)
    if entries:
        status.record_stage("decide", decided_s - began_s)
        status.record_stage("commit", committed_s - decided_s)
        status.record_stage("publish", loop.time() - committed_s)
        status.record_published(leader, loop.time() - began_s)
    return len(entries)


def _resync_reason(facts: Sequence[FactEvent]) -> str:
    """Return why ingest must resync; empty if it need not."""
    for fact in facts:
        if isinstance(fact, GapObserved):
            last = fact.found_seq - 1
            if last < fact.expected_seq:
                return f"SyncStarted is missing for the round that observation {last + 1} completes"
            return f"observations {fact.expected_seq} to {last} are missing"
        if isinstance(fact, StreamReplaced):
            return "the stream of observations was made anew"
    return ""


async def _publish_handovers(leader: LeaderState) -> None:
    """Publish trees that were released and are not known to be taken, and trees that were taken."""
    state = leader.state
    now_s = asyncio.get_running_loop().time()
    if state.dedup.confirms:
        confirms, state.dedup.confirms = list(state.dedup.confirms.values()), {}
        for confirm in confirms:
            await _publish_handover(leader, confirm, now_s)
    if state.moves.released and now_s - leader.handed_s >= AGAIN_S:
        leader.handed_s = now_s
        for message in unconfirmed_releases(state):
            await _publish_handover(leader, message, now_s)


async def _publish_handover(leader: LeaderState, message: HandoverObserved, now_s: float) -> None:
    """Store a message; if the bus fails it is sent again in a while, or requested."""
    deps = leader.deps
    subject = observed_subject(deps.cluster, HANDOVERS, "", f"{deps.partition}")
    piece = message.piece if isinstance(message, TreeReleasedObserved) else 0
    name = f"{type(message).__name__}/{message.ledger_id}/{message.seq}/{piece}"
    try:
        if deps.publish_handover is not None:
            await deps.publish_handover(
                subject, encode(message), f"{name}/{deps.holder.name}/{now_s}"
            )
    except (BusRefusedError, BusUnreachableError) as error:
        _log.warning("cannot tell another partition", what=name, why=str(error))
