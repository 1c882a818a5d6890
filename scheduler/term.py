"""Lead or stand by: takes a term, keeps its lease while it works, and gives it up at the end.

The lease keeps two schedulers from getting in each other's way; what keeps them from doing harm is
the epoch, which every commit proves. So the lease may be renewed late, and nothing depends on
clocks that agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from random import Random

from scheduler.dependencies import Dependencies
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import first_turn, turn
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
)
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

_log = get_log("term")
BUSY = 4
"""So many observations at once are a load."""
PASSING = (BusUnreachableError, CommitUnknownError, LedgerUnreachableError)


async def schedule(deps: Dependencies, stopping: asyncio.Event, random: Random) -> None:
    """Lead whenever nobody else does, until ``stopping`` is set; then finish the turn and leave.

    Raises:
        ChainError, UndecodableError: the ledger cannot be read: nobody may lead on it.
    """
    waits = _waits(deps, random)
    await _bury(deps)
    while not stopping.is_set():
        try:
            term = await _take(deps)
            if term is None:
                deps.status.become("standby")
                await _pause(stopping, deps.pace.lease_s / 5 * (0.5 + random.random()))
                continue
            await _lead(deps, term, stopping)
            waits = _waits(deps, random)
        except (FencedError, SequenceConflictError) as error:
            _log.warning("stands by", why=str(error))
            deps.status.become("standby")
            await _pause(stopping, next(waits))
        except LostTailError as error:
            _log.error("does not lead", why=str(error), remedy="tidegate ledger recover")
            deps.status.become("standby", f"{error} Run `tidegate ledger recover`.")
            await _pause(stopping, deps.pace.lost_tail_s)
        except (OtherClusterError, OtherLedgerError) as error:
            _log.error("does not lead", why=str(error))
            deps.status.become("standby", str(error))
            await _pause(stopping, deps.pace.lost_tail_s)
        except (*PASSING, PoisonedTurnError) as error:
            _log.warning("starts again from the ledger", why=str(error))
            deps.status.become("starting", str(error))
            await _pause(stopping, next(waits))
    deps.status.become("stopped")


async def _bury(deps: Dependencies) -> None:
    """Give up the lease of the process whose place we took, in its name: it is dead."""
    lead, predecessor = deps.ledger.lead, deps.holder.predecessor
    if predecessor:
        with suppress(*PASSING):  # it runs out by itself
            await deps.run_sync(lambda: lead(predecessor, 0))


async def _take(deps: Dependencies) -> Term | None:
    lead, holder, lease_us = deps.ledger.lead, deps.holder.name, _lease_us(deps)
    return await deps.run_sync(lambda: lead(holder, lease_us))


async def _lead(deps: Dependencies, term: Term, stopping: asyncio.Event) -> None:
    async with _renewed(deps, term) as fenced:
        leader = await open_leader_state(deps, term)
        await first_turn(leader)
        deps.status.become("leading")
        _log.info("leads", epoch=term.epoch, seq=leader.head.seq)
        while not stopping.is_set() and not fenced.done():
            await _one_turn(leader, stopping)
        if fenced.done():
            raise await fenced


async def _one_turn(leader: LeaderState, stopping: asyncio.Event) -> None:
    status, before = leader.deps.status, leader.accepted.seq
    try:
        await turn(leader)
        status.trouble = ""
        await _rest(leader, leader.accepted.seq - before)
        if status.deaf:
            await _pause(stopping, leader.deps.pace.retry_s)
    except BusUnreachableError as error:
        if not leader.sound:
            raise
        status.trouble = str(error)
        await _pause(stopping, leader.deps.pace.retry_s)
    status.turned()


async def _rest(leader: LeaderState, read: int) -> None:
    """Let observations gather after a turn that read several, for the next will be larger for it.

    A commit, a batch and a purge cost about the same for one observation as for fifty. A job that
    comes alone is not held up.
    """
    if read >= BUSY and not leader.more and leader.deps.pace.rest_s > 0:
        await asyncio.sleep(leader.deps.pace.rest_s)


@asynccontextmanager
async def _renewed(
    deps: Dependencies, term: Term
) -> AsyncGenerator[asyncio.Future[FencedError], None]:
    """Keep the lease while the context is open, then give it up; yield what tells of its loss."""
    renewing = asyncio.ensure_future(_renew(deps, term))
    try:
        yield renewing
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        with suppress(TidegateError):  # it runs out by itself
            await deps.run_sync(lambda: deps.ledger.renew(term.epoch, 0))


async def _renew(deps: Dependencies, term: Term) -> FencedError:
    """Prolong the lease in time; return how it was lost."""
    while True:
        await asyncio.sleep(deps.pace.lease_s / 3)
        try:
            await deps.run_sync(lambda: deps.ledger.renew(term.epoch, _lease_us(deps)))
        except FencedError as error:
            return error
        except TidegateError as error:
            _log.warning("could not renew the lease", why=str(error))


def _lease_us(deps: Dependencies) -> int:
    return round(deps.pace.lease_s * 1_000_000)


def _waits(deps: Dependencies, random: Random) -> Iterator[float]:
    return delays(random, deps.pace.retry_s, deps.pace.retry_s_max)


async def _pause(stopping: asyncio.Event, pause_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            await stopping.wait()
