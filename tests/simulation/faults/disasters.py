"""What an operator or a power cut does to bus and etcd as a whole, in some worlds only.

Like the makers they draw from a generator of their own: whatever else a world does by its seed
stays as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.bus import CLUSTER, NAMES
from tests.simulation.faults.etcd import Backup, backup, restore
from tests.simulation.judging.differences import LATE_S
from tests.simulation.judging.rest import unpublished
from tests.simulation.judging.verdict import demand
from tests.simulation.judging.wire import is_complete
from tests.simulation.ledgers import LedgerBackup
from tidegate.cli.commands.ledger.recover import rename_ledger
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tests.simulation.world import World

AN_HOUR_US = 3_600_000_000
STEPS_S = (-40, -5, 5, 40, 900)
"""By how much a clock is stepped; one of more than five minutes is not believed."""
STEPPED_S = 3.0, 20.0
_SEEDS, _EVERY = (3,), 4
BACKUP_S = 3.0, 12.0
"""How old a backup of etcd is when it is brought back."""


def strikes(seed: int) -> bool:
    """Tell whether bus and etcd as a whole are struck in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Disasters:
    """Deals one blow after another to the bus of one world."""

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._random = world, Random(f"disasters {seed}")
        self._strikes = strikes(seed)
        self._over = not self._strikes
        self._operator: asyncio.Future[None] | None = None
        self._blows: dict[str, Callable[[], None]] = {
            "nats restarted": lambda: self._world.bus.crash(lost=0),
            "nats rolled back": lambda: self._world.bus.crash(lost=self._random.randint(1, 4)),
            "observations truncated": world.bus.empty_observations,
            "observations made anew, earlier": self._make_anew_earlier,
            "events made anew": world.bus.recreate_events,
            "clock stepped": self._step_the_clock,
            "etcd restored": self._restore_etcd,
            "ledger's tail lost": self._lose_the_tail,
        }

    def settle(self) -> None:
        """Let nothing more happen, and the clocks be right."""
        self._over = True
        self._world.bus.ahead_us = 0

    async def run(self) -> None:
        """Deal blows until that is over."""
        while not self._over:
            await asyncio.sleep(self._random.uniform(4, 18))
            if not self._over:
                name = self._random.choice(list(self._blows))
                self._world.weather.struck[name] += 1
                self._world.disturbed()
                self._blows[name]()

    async def strike_at_rest(self) -> None:
        """Lose EVENTS, then the ledger, while no service does anything, in some worlds."""
        if self._strikes:
            await self._lose_events()
            await self._lose_the_ledger()

    async def _lose_events(self) -> None:
        """Lose EVENTS: it has to be filled again all the same."""
        loop, world = asyncio.get_running_loop(), self._world
        world.weather.struck["events made anew, at rest"] += 1
        world.bus.recreate_events()
        began_s = loop.time()
        while why := unpublished(world):
            demand(loop.time() - began_s <= LATE_S, "events", f"{why}, since it was made anew")
            await asyncio.sleep(1)

    async def _lose_the_ledger(self) -> None:
        """Lose the ledger: all that lives on has to go on with another, and to run one more Job.

        In a storm others die soon, and those that begin anew know no other ledger.
        """
        world = self._world
        world.weather.struck["ledger lost, at rest"] += 1
        world.storms.lose_the_ledger(self._random)
        world.people.submit_last()
        world.disturbed()
        await world.come_to_rest()

    def _make_anew_earlier(self) -> None:
        """Make OBSERVATIONS anew on a server whose clock is behind."""
        bus = self._world.bus
        ahead_us, bus.ahead_us = bus.ahead_us, bus.ahead_us - AN_HOUR_US
        bus.recreate_observations()
        bus.ahead_us = ahead_us

    def _step_the_clock(self) -> None:
        """Step the clock of bus and database, and step it back a while later."""
        bus, step_s = self._world.bus, self._random.choice(STEPS_S)
        bus.ahead_us = step_s * 1_000_000
        loop = asyncio.get_running_loop()
        loop.call_later(self._random.uniform(*STEPPED_S), self._set_right)

    def _restore_etcd(self) -> None:
        """Bring back etcd as it is now a while later; all services start anew, as is advised."""
        kept = backup(self._world.cluster)
        loop = asyncio.get_running_loop()
        loop.call_later(self._random.uniform(*BACKUP_S), self._bring_back, kept)

    def _bring_back(self, kept: Backup) -> None:
        if self._over:
            return
        restore(self._world.cluster, kept)
        self._world.observer.forget()
        self._world.disturbed()
        for _, life in sorted(self._world.lives.items()):
            life.die()

    def _lose_the_tail(self) -> None:
        """Bring the ledger back a while later as it is now, and recover it under a new name."""
        kept = self._world.back_up_ledger()
        loop = asyncio.get_running_loop()
        loop.call_later(self._random.uniform(*BACKUP_S), self._recover, kept)

    def _recover(self, kept: LedgerBackup) -> None:
        if self._over or kept.ledger is not self._world.ledger or not self._is_shown():
            return
        if kept.entries == len(kept.ledger.entries):
            return  # it lost nothing: recovering it is refused, and it goes on under its name
        self._end_schedulers()
        self._world.bus.keeps_events = True
        self._world.bring_back_ledger(kept)
        self._operator = asyncio.ensure_future(self._rename())

    def _is_shown(self) -> bool:
        """Tell whether EVENTS has what the ledger is to lose: else no process could know of it."""
        world = self._world
        ledger_id, events = world.watch().ledger_id, world.bus.server.streams.get(NAMES.events)
        newest = [world.ledger.entries[-1].seq] if world.ledger.entries else []
        return events is not None and is_complete(events, ledger_id, newest)

    def _end_schedulers(self) -> None:
        for name, life in sorted(self._world.lives.items()):
            if name.startswith("scheduler"):
                life.die()

    async def _rename(self) -> None:
        """Do as the message of a scheduler says that finds its ledger's tail lost."""
        world, bus_of_all = self._world, self._world.bus
        bus = bus_of_all.connect(Random(0))
        name = f"recovered{len(world.ledgers)}"
        for pause_s in (5.0, 20.0, 40.0):
            await asyncio.sleep(pause_s)
            world.disturbed()
            with suppress(TidegateError):
                await rename_ledger(world.ledger, bus, CLUSTER, name)
                world.disturbed()
                self._end_schedulers()  # they are started again, as the command asks
                break
        bus_of_all.keeps_events = False

    def _set_right(self) -> None:
        self._world.bus.ahead_us = 0
        self._world.disturbed()
