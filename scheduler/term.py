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

from scheduler.desk import Desk, open_desk
from scheduler.means import Means
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


async def schedule(means: Means, stopping: asyncio.Event, random: Random) -> None:
    """Lead whenever nobody else does, until ``stopping`` is set; then finish the turn and leave.

    Raises:
        ChainError, UndecodableError: the ledger cannot be read: nobody may lead on it.
    """
    waits = _waits(means, random)
    await _bury(means)
    while not stopping.is_set():
        try:
            term = await _take(means)
            if term is None:
                means.status.become("standby")
                await _pause(stopping, means.pace.lease_s / 5 * (0.5 + random.random()))
                continue
            await _lead(means, term, stopping)
            waits = _waits(means, random)
        except (FencedError, SequenceConflictError) as error:
            _log.warning("stands by", why=str(error))
            means.status.become("standby")
            await _pause(stopping, next(waits))
        except LostTailError as error:
            _log.error("does not lead", why=str(error), remedy="tidegate ledger recover")
            means.status.become("standby", f"{error} Run `tidegate ledger recover`.")
            await _pause(stopping, means.pace.lost_tail_s)
        except (OtherClusterError, OtherLedgerError) as error:
            _log.error("does not lead", why=str(error))
            means.status.become("standby", str(error))
            await _pause(stopping, means.pace.lost_tail_s)
        except (*PASSING, PoisonedTurnError) as error:
            _log.warning("starts again from the ledger", why=str(error))
            means.status.become("starting", str(error))
            await _pause(stopping, next(waits))
    means.status.become("stopped")


async def _bury(means: Means) -> None:
    """Give up the lease of the process whose place we took, in its name: it is dead."""
    lead, predecessor = means.ledger.lead, means.holder.predecessor
    if predecessor:
        with suppress(*PASSING):  # it runs out by itself
            await means.run_sync(lambda: lead(predecessor, 0))


async def _take(means: Means) -> Term | None:
    lead, holder, lease_us = means.ledger.lead, means.holder.name, _lease_us(means)
    return await means.run_sync(lambda: lead(holder, lease_us))


async def _lead(means: Means, term: Term, stopping: asyncio.Event) -> None:
    async with _renewed(means, term) as fenced:
        desk = await open_desk(means, term)
        await first_turn(desk)
        means.status.become("leading")
        _log.info("leads", epoch=term.epoch, seq=desk.head.seq)
        while not stopping.is_set() and not fenced.done():
            await _one_turn(desk, stopping)
        if fenced.done():
            raise await fenced


async def _one_turn(desk: Desk, stopping: asyncio.Event) -> None:
    status, before = desk.means.status, desk.accepted.seq
    try:
        await turn(desk)
        status.trouble = ""
        await _rest(desk, desk.accepted.seq - before)
        if status.deaf:
            await _pause(stopping, desk.means.pace.retry_s)
    except BusUnreachableError as error:
        if not desk.sound:
            raise
        status.trouble = str(error)
        await _pause(stopping, desk.means.pace.retry_s)
    status.turned()


async def _rest(desk: Desk, read: int) -> None:
    """Let observations gather after a turn that read several, for the next will be larger for it.

    A commit, a batch and a purge cost about the same for one observation as for fifty. A job that
    comes alone is not held up.
    """
    if read >= BUSY and not desk.more and desk.means.pace.rest_s > 0:
        await asyncio.sleep(desk.means.pace.rest_s)


@asynccontextmanager
async def _renewed(means: Means, term: Term) -> AsyncGenerator[asyncio.Future[FencedError], None]:
    """Keep the lease while the context is open, then give it up; yield what tells of its loss."""
    renewing = asyncio.ensure_future(_renew(means, term))
    try:
        yield renewing
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        with suppress(TidegateError):  # it runs out by itself
            await means.run_sync(lambda: means.ledger.renew(term.epoch, 0))


async def _renew(means: Means, term: Term) -> FencedError:
    """Prolong the lease in time; return how it was lost."""
    while True:
        await asyncio.sleep(means.pace.lease_s / 3)
        try:
            await means.run_sync(lambda: means.ledger.renew(term.epoch, _lease_us(means)))
        except FencedError as error:
            return error
        except TidegateError as error:
            _log.warning("could not renew the lease", why=str(error))


def _lease_us(means: Means) -> int:
    return round(means.pace.lease_s * 1_000_000)


def _waits(means: Means, random: Random) -> Iterator[float]:
    return delays(random, means.pace.retry_s, means.pace.retry_s_max)


async def _pause(stopping: asyncio.Event, pause_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            await stopping.wait()
