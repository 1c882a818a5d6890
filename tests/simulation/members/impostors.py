"""Another cluster of a member's name: its services read the hub's bus for a while, by a mistake.

It has the namespace and a Job of its own, under uids of its own. Nothing of it may enter the
ledger, nothing may be released for what it lists, and the member goes on once its own services are
back.
In half of these worlds the register on the bus refuses such services. In the others it names the
other cluster, as where that was first on a bus that was made anew, until people correct it: then
the ledger alone refuses. It can if it knows the member, so a member is known first there: neither
does another cluster come before, nor is a backup of the ledger taken that does not know it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from tests.simulation import processes
from tests.simulation.cluster import Cluster, job
from tests.simulation.faults.life import Life
from tidegate.bus.jetstream.keys import CLUSTER as KEY
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tests.simulation.members.site import Site

EVERY, AT = 4, 2
THEIRS = "theirs"
BEGINS_S, LASTING_S = (20.0, 90.0), (15.0, 60.0)
REGISTERED = 0.5
TRIED_S = 1.0
UID = "uid of another"


def uid_of(name: str) -> str:
    """Return the uid of the Namespace kube-system of a cluster of the world."""
    return f"uid of {name}"


class Impostor:
    """Takes the place of one member of one world once, in some worlds only."""

    def __init__(self, site: Site, seed: int, members: tuple[str, ...], team: str) -> None:
        self._site, self._random = site, Random(f"impostor {seed}")
        self.comes = seed % EVERY == AT
        self.name = self._random.choice(members)
        self.acts = False
        self.registers = self._random.random() < REGISTERED
        self.cluster = Cluster(site.bus.now_us, Random(f"impostor {seed} uids"))
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}}
        self.cluster.act("admin", "POST", "/api/v1/namespaces", space)
        made = job(THEIRS, pods=1, cpu_milli=500, seconds=3.0, priority="high")
        self.cluster.submit(team, made)

    async def run(self) -> None:
        """Let the other cluster's services take the place, and the member's come back."""
        if not self.comes:
            return
        await asyncio.sleep(self._random.uniform(*BEGINS_S))
        await self.member_known()
        for acts, uid in ((True, UID), (False, uid_of(self.name))):
            self.acts = acts
            self._site.hold([f"i-{self.name}", f"a-{self.name}"], 1.0)
            if self.registers or not acts:
                await self._register(uid)
            await asyncio.sleep(self._random.uniform(*LASTING_S))

    async def member_known(self) -> None:
        """Wait until the ledger knows which cluster the member is, in worlds with another."""
        while self.comes and not self._site.identities.is_bound(self.name):
            await asyncio.sleep(TRIED_S)

    async def _register(self, uid: str) -> None:
        """Let the register name a cluster, as people do who are sure."""
        while True:
            with suppress(TidegateError):
                bus = self._site.bus.connect(Random(0), cluster=self.name)
                return await bus.register().put(KEY, uid)
            await asyncio.sleep(TRIED_S)

    def bodies(
        self, own: dict[str, processes.Body], *, places: bool = False
    ) -> dict[str, processes.Body]:
        """Return the processes of the member, which are the other cluster's while that acts."""
        site, api = self._site, self.cluster.api
        observe = processes.ingest(
            site.bus,
            api,
            lambda: site.kinds,
            cluster=self.name,
            cluster_uid=UID,
            places=places,
        )
        act = processes.actuator(site.bus, api, cluster=self.name, cluster_uid=UID, places=places)
        others = {f"i-{self.name}": observe, f"a-{self.name}": act}
        return {name: self._either(own[name], other) for name, other in others.items()}

    def _either(self, own: processes.Body, other: processes.Body) -> processes.Body:
        async def body(life: Life, session: str) -> None:
            await (other if self.acts else own)(life, session)

        return body
