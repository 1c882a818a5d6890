"""A small world for one purpose: three services that die, and a loop that brings them back."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from random import Random

from tests.parts.stage import alongside
from tests.simulation import processes
from tests.simulation.bus import Bus
from tests.simulation.cluster import Cluster
from tests.simulation.faults.life import Life
from tests.simulation.faults.weather import Weather
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.ledgers import LedgerBackup, Ledgers
from tidegate.errors import TidegateError
from tidegate.model.policy import Policy

REST_S, QUIET_S = 3_600.0, 30.0
"""How long the world may take to come to rest once no process dies any more; and how long it is
quiet then."""


class Shore(ABC):
    """A cluster and its services; what people do and what must hold say its heirs."""

    kinds: tuple[str, ...] = ("batch/job",)
    provisions = False
    topologies = False
    elastic = False

    def __init__(self, seed: int, *, death: float) -> None:
        self.policy = Policy()
        self.random, self.weather = Random(seed), Weather({"death": death})
        self.bus = Bus()
        self.cluster = Cluster(self.bus.now_us, Random(seed))
        self.ledgers = Ledgers(self.bus.now_us, self.bus.taken)
        self.ledgers.begin()
        self.lives, self._down_until_s = dict[str, Life](), dict[str, float]()
        self.deaths, self.said = 0, ""
        self._news, self._news_at_s = 0, 0.0

    @property
    def ledger(self) -> WatchedLedger:
        """Return the ledger of now."""
        return self.ledgers.all[-1]

    def bring_back_ledger(self, kept: LedgerBackup) -> None:
        """Put a copy in the place of the ledger."""
        self.ledgers.bring_back(kept)

    def hold(self, names: Sequence[str], lasting_s: float) -> None:
        """End processes, and start them again no earlier than after a while."""
        until_s = asyncio.get_running_loop().time() + lasting_s
        for name in names:
            self._down_until_s[name] = until_s
            self.lives[name].die()

    @abstractmethod
    async def people(self) -> None:
        """Do what people do, to its end."""

    @abstractmethod
    async def watch(self) -> None:
        """Demand for ever what must hold at every moment."""

    @abstractmethod
    def unrest(self) -> str:
        """Tell what is still going on; empty: nothing."""

    def stirs(self, news: int) -> str:
        """Tell whether anything was reported lately, by how much was reported in all; empty: no."""
        now_s = asyncio.get_running_loop().time()
        if news != self._news:
            self._news, self._news_at_s = news, now_s
        return "" if now_s - self._news_at_s > QUIET_S else "something was told lately"

    @abstractmethod
    def mend(self) -> None:
        """Do what people do each second until the world is at rest."""

    async def run(self) -> None:
        """Live from the beginning to rest; raise what a judge objected to."""
        async with AsyncExitStack() as around:
            around.callback(self.ledgers.dispose)
            await around.enter_async_context(alongside(self.cluster.controller_manager.run()))
            for name, body in self._bodies().items():
                await around.enter_async_context(alongside(self._keep(name, body)))
            judging = await around.enter_async_context(alongside(self.watch()))
            await self.people()
            self.weather.calm()
            async with asyncio.timeout(REST_S):
                while why := self.unrest():
                    assert not judging.done(), judging.exception()
                    await asyncio.sleep(1)
                    self.said = why
                    self.mend()
            assert not judging.done(), judging.exception()

    def _bodies(self) -> dict[str, processes.Body]:
        decide, _ = processes.scheduler(
            self.bus, lambda: self.ledger, lambda: "ledger", self.policy
        )
        api = self.cluster.api
        observe = processes.ingest(self.bus, api, lambda: self.kinds, elastic=self.elastic)
        act = processes.actuator(
            self.bus,
            api,
            provisions=self.provisions,
            elastic=self.elastic,
            topologies=self.topologies,
        )
        return {"s": decide, "i": observe, "a": act}

    async def _keep(self, name: str, body: processes.Body) -> None:
        """Run a process again whenever it died."""
        while True:
            life = self.lives[name] = Life(name, self.random, self.weather)
            life.main = asyncio.ensure_future(_lived(body, life, f"{name}{self.deaths}"))
            try:
                await asyncio.wait({life.main})
            finally:
                life.die()
            if not life.main.cancelled():
                life.main.result()
            self.deaths += 1
            down_s = self._down_until_s.get(name, 0.0) - asyncio.get_running_loop().time()
            await asyncio.sleep(max(1, down_s))


async def _lived(body: processes.Body, life: Life, session: str) -> None:
    with suppress(TidegateError):
        await body(life, session)
