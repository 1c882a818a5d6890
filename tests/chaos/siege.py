"""Fault after fault, each followed by the question how soon a new Job runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.chaos.faults import Fault, faults_of
from tests.chaos.ground import PROBE, Ground
from tests.chaos.load import Load
from tests.chaos.table import Found, Struck
from tests.e2e.cast import tidegate
from tests.e2e.observer import Observer

REST_S = 3.0, 9.0
RECOVERY_S_MAX = 180.0
"""A service that has not recovered by then counts with so many seconds, and the run goes on."""
END_S_MAX = 300.0
Say = Callable[[str], None]


async def besiege(ground: Ground, minutes: float, seed: int, say: Say) -> Found:
    """Strike for so many minutes, wait for what was submitted, and return what was found."""
    load = Load(ground)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(ground.observer.run())
        tallying = tasks.create_task(load.tally())
        submitting = tasks.create_task(load.run())
        struck = await _strike(ground, load, 60 * minutes, say)
        load.end()
        await submitting
        await _finish(load, say)
        tallying.cancel()
        watching.cancel()
    audit = await asyncio.to_thread(_audit, ground)
    return Found(
        minutes=minutes,
        seed=seed,
        submitted=len(load.submitted),
        completed=len(load.completed),
        struck=tuple(struck),
        lost=tuple(dict.fromkeys((*load.unfinished, *sorted(load.failed)))),
        violations=tuple(ground.observer.violations),
        audit=audit,
    )


async def _strike(ground: Ground, load: Load, for_s: float, say: Say) -> list[Struck]:
    loop, random = asyncio.get_running_loop(), ground.random
    until_s, struck = loop.time() + for_s, list[Struck]()
    while loop.time() < until_s:
        fault = random.choice(faults_of(ground))
        recovered_s = await _recovered_s(fault, ground, load)
        struck.append(Struck(fault.name, recovered_s))
        left_min = max(0.0, until_s - loop.time()) / 60
        say(
            f"{fault.name}: a new job ran after {recovered_s:.1f} s; {len(struck)} faults, "
            f"{len(load.completed)} of {len(load.submitted)} jobs completed, "
            f"{_broken(ground.observer)} promises broken, {left_min:.1f} min left"
        )
        await asyncio.sleep(random.uniform(*REST_S))
    return struck


async def _recovered_s(fault: Fault, ground: Ground, load: Load) -> float:
    """Strike once, submit a Job, and return how long after the fault it ran."""
    loop = asyncio.get_running_loop()
    await fault.strike(ground)
    began_s = loop.time()
    try:
        async with asyncio.timeout(RECOVERY_S_MAX):
            name = await load.submit(PROBE, cpu="100m", seconds=0.5)
            await load.started(name)
    except TimeoutError:
        return RECOVERY_S_MAX
    return loop.time() - began_s


async def _finish(load: Load, say: Say) -> None:
    say(f"waiting for {len(load.unfinished)} jobs")
    try:
        async with asyncio.timeout(END_S_MAX):
            while load.unfinished:
                await asyncio.sleep(0.2)
    except TimeoutError:
        say(f"{len(load.unfinished)} jobs did not complete")


def _audit(ground: Ground) -> str:
    running = ground.running
    try:
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
    except AssertionError as error:
        return str(error)
    return ""


def _broken(observer: Observer) -> int:
    return len(observer.violations)
