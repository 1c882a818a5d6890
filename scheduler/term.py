"""Lead or stand by: takes a term, keeps its lease while it works, and gives it up at the end.

The lease keeps two schedulers from getting in each other's way; what keeps them from doing harm is
the epoch, which every commit proves. So the lease may be renewed late, and nothing depends on
clocks that agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

from scheduler.dependencies import Dependencies
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_first_turn, run_turn
from tidegate.contracts.entry import Term
from tidegate.errors import (
    BusUnreachableError,
    CommitUnknownError,
    FencedError,
    LedgerUnreachableError,
    LostTailError,
    OtherClusterError,
    OtherLedgerError,
    PoisonedTurnError,
    SequenceConflictError,
    TidegateError,
    TurnHangsError,
    UnstorableValueError,
)
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

_log = get_log("term")
BUSY = 2
"""So many observations at once are a load."""
REST_S_MAX = 0.1
"""However long a turn took: quota that came back waits no longer to be given away."""
HANGING_ROUNDS = 6
"""Of renewing the lease, three a lease: a turn that outlasts them hangs, and its term is lost."""
PASSING = (
    BusUnreachableError,
    CommitUnknownError,
    LedgerUnreachableError,
    UnstorableValueError,
)


async def schedule(deps: Dependencies, stopping: asyncio.Event, random: Random) -> None:
    """Lead whenever the lease is free, until ``stopping`` is set; then finish the turn and leave.

    Raises:
        ChainError, UndecodableError: the ledger cannot be read: no scheduler may lead on it.
    """
    waits = _retry_delays(deps, random)
    await _release_dead_lease(deps)
    while not stopping.is_set():
        try:
            term = await _begin_term(deps)
            if term is None:
                deps.status.set_role("standby")
                await _sleep_unless_stopping(
                    stopping, deps.pace.lease_s / 5 * (0.5 + random.random())
                )
                continue
            await _work_as_leader(deps, term, stopping)
            waits = _retry_delays(deps, random)
        except (FencedError, SequenceConflictError) as error:
            _log.warning("stands by", why=str(error))
            deps.status.set_role("standby")
            await _sleep_unless_stopping(stopping, next(waits))
        except LostTailError as error:
            _log.error("does not lead", why=str(error), remedy="tidegate ledger recover")
            deps.status.set_role("standby", f"{error} Run `tidegate ledger recover`.")
            await _sleep_unless_stopping(stopping, deps.pace.lost_tail_s)
        except (OtherClusterError, OtherLedgerError) as error:
            _log.error("does not lead", why=str(error))
            deps.status.set_role("standby", str(error))
            await _sleep_unless_stopping(stopping, deps.pace.lost_tail_s)
        except TurnHangsError as error:
            _log.error("gives way", why=str(error))
            deps.status.set_role("starting", str(error))
            await _sleep_unless_stopping(
                stopping, deps.pace.lease_s / 2
            )  # longer than a standby waits to look
        except (*PASSING, PoisonedTurnError) as error:
            _log.warning("starts again from the ledger", why=str(error))
            deps.status.set_role("starting", str(error))
            await _sleep_unless_stopping(stopping, next(waits))
    deps.status.set_role("stopped")


async def _release_dead_lease(deps: Dependencies) -> None:
    """Give up the lease of our dead predecessor, in its name."""
    lead, predecessor = deps.ledger.begin_term, deps.holder.predecessor
    if predecessor:
        with suppress(*PASSING):  # it runs out by itself
            await deps.run_sync(lambda: lead(predecessor, 0))


async def _begin_term(deps: Dependencies) -> Term | None:
    lead, holder, lease_us = deps.ledger.begin_term, deps.holder.name, _lease_us(deps)
    return await deps.run_sync(lambda: lead(holder, lease_us))


async def _work_as_leader(deps: Dependencies, term: Term, stopping: asyncio.Event) -> None:
    async with _renewed_lease(deps, term) as lost:
        leader = await open_leader_state(deps, term)
        await run_first_turn(leader)
        deps.status.set_role("leading")
        _log.info("leads", epoch=term.epoch, seq=leader.head.seq)
        try:
            await _run_unless_lost(lost, _run_turns(leader, stopping, lost))
        finally:
            await leader.members.cancel_pulls()


async def _run_turns(
    leader: LeaderState, stopping: asyncio.Event, lost: asyncio.Future[TidegateError]
) -> None:
    """Take turns; a turn that kept its cancellation for itself is the term's last all the same."""
    while not (stopping.is_set() or lost.done()):
        await _run_turn(leader, stopping)


async def _run_unless_lost(
    lost: asyncio.Future[TidegateError], turns: Coroutine[Any, Any, None]
) -> None:
    """Run turns to their end, unless the term is lost meanwhile: then give up where they stand.

    What one has handed to the database by then proves its epoch there, or is not written.
    """
    turning = asyncio.ensure_future(turns)
    try:
        both: set[asyncio.Future[Any]] = {turning, lost}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not turning.done():
            raise await lost
        turning.result()
        if lost.done():
            raise await lost
    finally:
        turning.cancel()
        await asyncio.wait({turning})


async def _run_turn(leader: LeaderState, stopping: asyncio.Event) -> None:
    status, before = leader.deps.status, leader.read_count
    try:
        await run_turn(leader)
        status.trouble = ""
        await _wait_for_more(leader, leader.read_count - before)
        if status.deaf:
            await _sleep_unless_stopping(stopping, leader.deps.pace.retry_s)
    except BusUnreachableError as error:
        if not leader.sound:
            raise
        status.trouble = str(error)
        await _sleep_unless_stopping(stopping, leader.deps.pace.retry_s)
    status.record_turn_end()


async def _wait_for_more(leader: LeaderState, read: int) -> None:
    """Let observations gather after a turn that read several, for the next will be larger for it.

    A commit and what goes to the bus cost about the same for one observation as for fifty, so the
    rest is at least as long as the turn took: where the disk or the machine is slow, turns are the
    larger. A job that comes alone is not held up.
    """
    least_s = leader.deps.pace.rest_s
    if read >= BUSY and not leader.more and least_s > 0:
        await asyncio.sleep(max(least_s, min(leader.took_s, REST_S_MAX)))


@asynccontextmanager
async def _renewed_lease(
    deps: Dependencies, term: Term
) -> AsyncGenerator[asyncio.Future[TidegateError], None]:
    """Keep the lease while the context is open, then give it up; yield the event of its loss."""
    renewing = asyncio.ensure_future(_renew_until_lost(deps, term))
    try:
        yield renewing
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        with suppress(TidegateError, TimeoutError):  # it runs out by itself
            async with asyncio.timeout(deps.pace.lease_s):
                await deps.run_sync(lambda: deps.ledger.renew_term(term.epoch, 0))


async def _renew_until_lost(deps: Dependencies, term: Term) -> TidegateError:
    """Prolong the lease in time, as long as turns end; return how it was lost.

    A turn that computes for long stops these rounds, too, and is none that hangs: so rounds are
    counted, not seconds.
    """
    turns, rounds = deps.status.ended, 0
    while True:
        await asyncio.sleep(deps.pace.lease_s / 3)
        rounds = 0 if deps.status.ended != turns or deps.status.role != "leading" else rounds + 1
        turns = deps.status.ended
        if rounds >= HANGING_ROUNDS:
            return TurnHangsError(f"no turn ended for {rounds * deps.pace.lease_s / 3:.0f} s")
        try:
            await deps.run_sync(lambda: deps.ledger.renew_term(term.epoch, _lease_us(deps)))
        except FencedError as error:
            return error
        except TidegateError as error:
            _log.warning("could not renew the lease", why=str(error))


def _lease_us(deps: Dependencies) -> int:
    return round(deps.pace.lease_s * 1_000_000)


def _retry_delays(deps: Dependencies, random: Random) -> Iterator[float]:
    return backoff_delays(random, deps.pace.retry_s, deps.pace.retry_s_max)


async def _sleep_unless_stopping(stopping: asyncio.Event, pause_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            await stopping.wait()
