"""What must hold of a world that came to rest; a seed that fails here is the bug report."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from typing import NamedTuple

import structlog

from store.access.engine import selecting
from store.reading.lives import workload_lifetimes
from tests.parts.phases import Phases
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.judging.verdict import OBJECTIONS, BrokenRuleError, demand, insist
from tests.simulation.judging.waiting import check_no_workload_is_stuck
from tests.simulation.loop import run_seeded
from tests.simulation.world import World
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry, Published
from tidegate.contracts.facts import GapObserved, StreamReplaced
from tidegate.core.folding import snapshot
from tidegate.errors import TidegateError
from tidegate.replay.rebuild import rebuild
from tidegate.replay.verify import audit_ledger

KEY = re.compile(r'"([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)"')
LOUD = 50  # critical: the services have no such word, so their logs are not told


class Outcome(NamedTuple):
    """What one world came to."""

    hash: str  # of the last ledger's last entry
    entries: int
    ledgers: int
    starts: int
    deaths: int
    lasted_s: float
    struck: Counter[str]  # how often each fault did

    @property
    def faults(self) -> int:
        """Return how often any fault struck."""
        return self.struck.total()


def judge(seed: int) -> Outcome:
    """Run a world to its rest, assert what holds whatever the seed, and return what it came to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(LOUD))
    return run_seeded(_lived(seed))


async def _lived(seed: int) -> Outcome:
    OBJECTIONS.clear()
    world = World(seed)
    try:
        await world.run()
        insist()
        for ledger in world.ledgers:
            _check_ledger(ledger)
            _check_lives(ledger)
            check_no_workload_is_stuck(ledger.entries)
            _check_subscriber(world, ledger)
            _check_losses(world, ledger)
        _check_draft(world)
        return _outcome(world)
    finally:
        world.dispose()


def _check_ledger(ledger: WatchedLedger) -> None:
    """The rows are what was committed; the chain holds; deciding again decides the same."""
    rows = list(ledger.read())
    demand(rows == ledger.entries, "ledger", "its rows are not what was committed")
    try:
        audit_ledger(rows)
    except TidegateError as error:
        raise BrokenRuleError("ledger", str(error)) from error


def _check_lives(ledger: WatchedLedger) -> None:
    """No event outside of its life names a workload: ``why`` reads no others."""
    named = defaultdict[str, list[int]](list)
    for entry in ledger.entries:
        for key in {*KEY.findall(entry.payload)}:
            named[key].append(entry.seq)
    end = len(ledger.entries)
    with selecting(ledger.engine) as select:
        for key, seqs in named.items():
            spans = workload_lifetimes(
                select, [key], end
            )  # none: it is a LocalQueue, or never was submitted
            outside = [seq for seq in seqs if not any(a <= seq <= b for a, b in spans)]
            demand(not spans or not outside, "ledger", f"{key} is named outside: {outside[:3]}")


def _check_subscriber(world: World, ledger: WatchedLedger) -> None:
    """A subscriber saw each entry once, in order and letter for letter."""
    messages = [message for message in world.seen if message.ledger_id == ledger.watch.ledger_id]
    seqs = [message.seq for message in messages]
    in_order = seqs == sorted(set(seqs))
    demand(in_order, "events", "a subscriber saw entries twice or out of order")
    # A ledger that was recovered has its name from some entry on.
    # One that was brought back and lost again before it got a name of its own has reported nothing:
    # what is reported under its name is of the ledger that it is a copy of.
    named = [
        watched_ledger
        for watched_ledger in world.ledgers
        if watched_ledger.watch.ledger_id == ledger.watch.ledger_id
    ]
    entries = (
        entry
        for watched_ledger in named
        for entry in watched_ledger.entries
        if entry.seq >= watched_ledger.watch.opened
    )
    rows = {entry.seq: entry for entry in entries}
    same = all(_is_of(rows.get(message.seq), message) for message in messages)
    demand(same, "events", "a subscriber saw other entries than were committed")
    # A ledger that was lost may have taken along what it had not published yet.
    wanted = list(rows) if ledger is world.ledger else list(rows)[: len(seqs)]
    demand(seqs == wanted, "events", "a subscriber missed entries")


def _is_of(row: Entry | None, message: Published) -> bool:
    return row is not None and row.payload.encode() == message.payload


def _check_losses(world: World, ledger: WatchedLedger) -> None:
    """Where nothing that was told is lost, the scheduler misses nothing, though processes die."""
    for entry in ledger.entries if world.storms.lossless else ():
        event = decode(entry.payload)
        replaced = isinstance(event, StreamReplaced)
        demand(not replaced, "loss", "a stream that was not made anew counts as another")
        missed = isinstance(event, GapObserved) and event.expected_seq != event.found_seq
        demand(not missed, "loss", f"at {entry.seq} the scheduler missed what was told: {event}")


def _check_draft(world: World) -> None:
    """The leader's state is what folding the ledger gives."""
    leading = [status.leader for status in world.statuses.values() if status.leader is not None]
    demand(leading, "rest", "no scheduler leads")
    newest = max(leading, key=lambda leader: leader.epoch)
    folded, head = rebuild(world.ledger.read())
    phases = Phases()
    for entry in world.ledger.entries:
        phases.learn(decode(entry.payload))
    differing = phases.differing(folded)
    demand(not differing, "ledger", f"events give other phases than the state: {differing}")
    same = newest.head == head and snapshot.encode(newest.state) == snapshot.encode(folded)
    demand(same, "ledger", "the leader's state is not what folding the ledger gives")


def _outcome(world: World) -> Outcome:
    entries = sum(len(ledger.entries) for ledger in world.ledgers)
    return Outcome(
        hash=world.ledger.entries[-1].hash.hex(),
        entries=entries,
        ledgers=len(world.ledgers),
        starts=round(world.observer.starts),
        deaths=world.deaths,
        lasted_s=asyncio.get_running_loop().time(),
        struck=world.weather.struck,
    )
