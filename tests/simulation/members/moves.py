"""The hub moves: its services stop, and what they stand on is brought to another place.

By seed its bus is a new one with empty streams, or its ledger is a backup without the newest
entries, which is recovered under a new name; and its API server may be restored from a backup as
well. Members reach the bus again only some time after the hub does. Draws from a generator of its
own.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from tests.simulation.bus import CLUSTER
from tests.simulation.faults.etcd import Backup, backup
from tests.simulation.ledgers import LedgerBackup
from tidegate.cli.commands.ledger.recover import rename_ledger
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tests.simulation.members.site import Site

Move: TypeAlias = Literal["all kept", "bus anew", "tail lost"]
HUB = "s", f"i-{CLUSTER}", f"a-{CLUSTER}"
BEGINS_S, BACKUP_S = (5.0, 80.0), (1.0, 40.0)
AWAY_S, PARTED_S, TRIED_S = (3.0, 40.0), (0.0, 60.0), 5.0
API_SERVER_TOO = 0.5


class Moves:
    """Moves the hub of one world once."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site, self._random = site, Random(f"moves {seed}")
        self.kind: Move = self._random.choice(get_args(Move))
        self.restores = self._random.random() < API_SERVER_TOO
        self.lost = 0  # entries of the ledger

    async def run(self) -> None:
        """Take the backups, stop the hub, and start it in the other place."""
        site, random = self._site, self._random
        await asyncio.sleep(random.uniform(*BEGINS_S))
        await site.impostor.member_known()
        objects = backup(site.clusters[CLUSTER]) if self.restores else None
        kept = site.ledgers.back_up()
        await asyncio.sleep(random.uniform(*BACKUP_S))
        lasting_s = random.uniform(*AWAY_S)
        site.hold(HUB, lasting_s)
        for name in sorted(site.lives):
            if name not in HUB:
                site.bus.part(name, lasting_s + random.uniform(*PARTED_S))
        await self._carry(kept, objects)
        await asyncio.sleep(lasting_s)

    async def _carry(self, kept: LedgerBackup, objects: Backup | None) -> None:
        site = self._site
        site.bus.crash(lost=0)
        if self.kind == "bus anew":
            for name in list(site.bus.server.streams):
                await asyncio.sleep(0.001)  # a stream is known by when it was made
                site.bus.recreate(name)
        if objects is not None:
            site.restore(CLUSTER, objects)
        self.lost = len(site.ledger.entries) - kept.entries if self.kind == "tail lost" else 0
        site.bring_back_ledger(kept if self.lost else site.ledgers.back_up())
        if self.lost:
            await self._rename()

    async def _rename(self) -> None:
        """Do as the message of a scheduler says that finds its ledger's tail lost."""
        site = self._site
        while True:
            with suppress(TidegateError):
                bus = site.bus.connect(Random(0))
                await rename_ledger(site.ledger, bus, CLUSTER, "recovered")
                return
            await asyncio.sleep(TRIED_S)
