"""A hub with two members, people with Jobs in each, and what befalls one cluster and not another.

By seed one cluster falls silent, one is restored from a backup and one is cut off; and the hub
moves (``moves``). In each third world there are groups of pods, too, and in each fourth another
cluster takes a member's name (``impostors``). Both members give out the same uids in the same
order, as where one was made from the other's backup.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any

from apiserver.state import Change
from tests.parts.stage import alongside
from tests.simulation import processes
from tests.simulation.actors.people import finished
from tests.simulation.bus import CLUSTER
from tests.simulation.cluster import JOBS, KUEUE, Cluster, drawn_job, named
from tests.simulation.faults.etcd import Backup, backup, restore
from tests.simulation.judging.verdict import demand, insist
from tests.simulation.ledgers import LedgerBackup
from tests.simulation.members.identities import Identities
from tests.simulation.members.impostors import Impostor, uid_of
from tests.simulation.members.moves import Moves
from tests.simulation.shore import Shore
from tests.simulation.topologies.crews import Crews
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import FactEvent, LedgerOpened
from tidegate.kinds.names import GROUP_UID
from tidegate.model.clusters import AT, local_name
from tidegate.model.policy import Policy

Object = dict[str, Any]
MEMBERS = ("east", "west")
TEAM, JOBS_MAX, QUOTA_MILLI = "team-m", 6, 2_000
DECISION = "tidegate.dev/decision"
GROUPS_MAX, GROUPED = 2, 3
ADMISSION = "kueue.x-k8s.io/admission"
RESTORED_S = 300.0
"""For how long a restored cluster may run too much."""
STRIKES = ("silent", "restored", "cut")


class Site(Shore):
    """The world of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=0.002)
        self.weather.chances |= {"unanswered": 0.02, "busy": 0.02, "watch_breaks": 0.02}
        self.weather.chances |= {"cut_behind": 0.005, "unheard": 0.005}
        self.policy = Policy(member_clusters=MEMBERS)
        same = f"members {seed}"
        members = {name: Cluster(self.bus.now_us, Random(same)) for name in MEMBERS}
        self.clusters = {CLUSTER: self.cluster, **members}
        self.groups = dict[str, Crews]()
        if seed % GROUPED == 1:
            self.kinds = ("batch/job", "pod", "pod-group")
            for name, cluster in self.clusters.items():
                drawn = Random(f"groups {seed} {name}")
                self.groups[name] = Crews(cluster, TEAM, drawn, crews=GROUPS_MAX, placed=False)
        self._furnish()
        self.struck, self.restored_s = Counter[str](), dict[str, float]()
        self.silences = self.highest = self._read = 0
        self.moves = Moves(self, seed)
        self.impostor = Impostor(self, seed, MEMBERS, TEAM)
        self.identities = Identities()
        self._ledger_id, self.starts = "", dict[str, StartOrdered]()  # by the mark that Jobs bear
        for name, cluster in self.clusters.items():
            cluster.api.registry.state.listeners.append(partial(self._see, name))

    def _furnish(self) -> None:
        flavors = list[Object]()
        for name, cluster in self.clusters.items():
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
            if name != CLUSTER:
                cluster.act("admin", "POST", "/api/v1/namespaces", space)
            made = named("ResourceFlavor", name, spec={})
            if name != CLUSTER:
                made["metadata"]["annotations"] = {"tidegate.dev/clusters": name}
            self.cluster.act("admin", "POST", f"{KUEUE}/resourceflavors", made)
            quota = [{"name": "cpu", "nominalQuota": f"{QUOTA_MILLI}m"}]
            flavors.append({"name": name, "resources": quota})
        spec: Object = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
        }
        self.cluster.furnish(TEAM, 0, spec)

    async def run(self) -> None:
        """See ``Shore.run``; the members' controllers work as well."""
        async with AsyncExitStack() as around:
            for name in MEMBERS:
                await around.enter_async_context(
                    alongside(self.clusters[name].controller_manager.run())
                )
            await super().run()

    def _bodies(self) -> dict[str, processes.Body]:
        decide, _ = processes.scheduler(
            self.bus, lambda: self.ledger, lambda: "ledger", self.policy, MEMBERS
        )
        fields = {"s": decide}
        for name, cluster in self.clusters.items():
            api = cluster.api
            uid = uid_of(name)
            observe = processes.ingest(
                self.bus, api, lambda: self.kinds, cluster=name, cluster_uid=uid
            )
            act = processes.actuator(self.bus, api, cluster=name, cluster_uid=uid)
            fields |= {f"i-{name}": observe, f"a-{name}": act}
        return fields | self.impostor.bodies(fields)

    # what people do, and what strikes

    async def people(self) -> None:
        """Submit Jobs to each cluster, and let each strike fall once."""
        strikes = list(STRIKES)
        self.random.shuffle(strikes)
        around = asyncio.gather(self.moves.run(), self.impostor.run())
        for number in range(JOBS_MAX):
            for cluster in self.clusters.values():
                self._submit(cluster, number)
            self.mend()
            await asyncio.sleep(self.random.uniform(0, 20))
            if number % 2 and strikes:
                await self._strike(strikes.pop())
        await asyncio.sleep(self.random.uniform(0, 40))
        await around

    def _submit(self, cluster: Cluster, number: int) -> None:
        random = self.random
        made = drawn_job(random, f"job-{number}", [3.0, 15.0, 40.0])
        cluster.submit(TEAM, made)
        if random.random() < 0.1:
            body = {"propagationPolicy": "Background"}
            cluster.act("user", "DELETE", f"{JOBS.format(TEAM)}/job-{number}", body)

    async def _strike(self, what: str) -> None:
        self.struck[what] += 1
        random, name = self.random, self.random.choice(MEMBERS)
        match what:
            case "silent":
                self.bus.part(f"i-{name}", random.uniform(20, 120))
            case "cut":
                name = random.choice((CLUSTER, *MEMBERS))
                lasting_s = random.uniform(5, 90)
                for service in ("i", "a"):
                    self.bus.part(f"{service}-{name}", lasting_s)
            case _:
                kept = backup(self.clusters[name])
                await asyncio.sleep(random.uniform(5, 60))
                self.restore(name, kept)

    def restore(self, cluster: str, kept: Backup) -> None:
        """Bring a cluster's API server back as it was."""
        self.restored_s[cluster] = now_s()
        restore(self.clusters[cluster], kept)

    def bring_back_ledger(self, kept: LedgerBackup) -> None:
        """See ``Shore.bring_back_ledger``; what was ordered before is read to its end."""
        self._follow()
        super().bring_back_ledger(kept)
        self._read = len(self.ledger.entries)
        self.identities.begin_again(self.ledger.entries)

    def mend(self) -> None:
        """Make groups of pods, and a pod anew for each that one of them lost."""
        for groups in self.groups.values():
            groups.work()

    # what must hold

    async def watch(self) -> None:
        """Follow the ledger for ever, and say again what a judge objected to on the way."""
        while True:
            insist()
            self._follow()
            self._count_running()
            await asyncio.sleep(0.2)

    def _follow(self) -> None:
        """Object to quota of another cluster's flavor; too much of one the ledger's watch sees."""
        charged = Counter[str]()
        for workload, held in self.ledger.watch.holding.items():
            where = workload.rpartition(AT)[2] if AT in workload else CLUSTER
            demand(held.flavor == where, "quota", f"{workload} has quota of {held.flavor}")
            charged[held.flavor] += held.cpu
        self.highest = max(self.highest, *charged.values(), 0)
        self._read_entries()

    def _read_entries(self) -> None:
        entries = self.ledger.entries
        for entry in entries[self._read :]:
            self._read_event(entry.seq, decode(entry.payload))
        self._read = len(entries)

    def _read_event(self, seq: int, event: FactEvent | DecisionEvent) -> None:
        match event:
            case LedgerOpened():
                self._ledger_id = event.ledger_id
            case StartOrdered():
                self.starts[f"{self._ledger_id}/{seq}"] = event
            case RemoteClusterChanged():
                self.silences += not event.connected
            case _:
                pass
        if self.impostor.comes:
            self.identities.read(event)

    def _count_running(self) -> None:
        """Object if more runs in a cluster than its flavor has, unless it was restored lately."""
        for name, cluster in self.clusters.items():
            if now_s() - self.restored_s.get(name, -RESTORED_S) < RESTORED_S:
                continue
            pods = cluster.api.registry.state.items("pods")
            milli = sum(cpu_milli(pod) for pod in pods if runs(pod))
            demand(milli <= QUOTA_MILLI, "quota", f"{milli}m run in {name}")

    def _see(self, name: str, change: Change) -> None:
        """Object to what a service starts without an order for it in this very cluster."""
        before, after = change.before, change.after
        if change.resource not in ("jobs.batch", "pods") or before is None or after is None:
            return
        if self.clusters[name].acting or not waits(before) or waits(after):
            return
        meta = after["metadata"]
        decision = meta.get("annotations", {}).get(DECISION, "")
        self._read_entries()
        order = self.starts.get(decision)
        text = f"{meta['name']} is started in {name} by {decision or 'no decision'}"
        demand(order is not None, "once", text)
        assert order is not None
        where, whose = order.job.cluster or CLUSTER, local_name(order.job.uid)
        uid = meta["annotations"].get(GROUP_UID, meta["uid"])
        demand((where, whose) == (name, uid), "once", f"{text}: an order of {where}")

    def unrest(self) -> str:
        """See ``Shore.unrest``."""
        for name, cluster in self.clusters.items():
            for job in cluster.jobs():
                if not finished(job):
                    return f"{job['metadata']['name']} is not finished in {name}"
        for name, groups in self.groups.items():
            if why := groups.unrest():
                return f"{why} in {name}"
        if self.ledger.watch.holding:
            return f"{next(iter(self.ledger.watch.holding))} holds quota"
        return self.stirs(len(self.ledger.entries))


def runs(pod: Object) -> bool:
    """Tell whether a pod runs, or will: one that was deleted before it had begun never does."""
    phase, deleted = pod["status"].get("phase"), "deletionTimestamp" in pod["metadata"]
    return phase == "Running" or (phase == "Pending" and not waits(pod) and not deleted)


def waits(job: Object) -> bool:
    """Tell whether a Job is suspended, or a pod gated."""
    gates = job["spec"].get("schedulingGates") or ()
    return bool(job["spec"].get("suspend")) or any(gate["name"] == ADMISSION for gate in gates)


def cpu_milli(pod: Object) -> int:
    [container] = pod["spec"]["containers"]
    asked: str = container["resources"]["requests"]["cpu"]
    return int(asked.removesuffix("m")) if asked.endswith("m") else 1_000 * int(asked)


def now_s() -> float:
    """Return the world's time in seconds."""
    return asyncio.get_running_loop().time()
