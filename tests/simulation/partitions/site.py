"""One cluster, two partitions, three trees that administrators move, and what befalls services.

Each partition has a scheduler and an actuator of its own, over one ingest, one NATS and one
database. In each second world jobs preempt others; in the others nothing may ever be stopped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from random import Random
from typing import Any

from apiserver.state import Change
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.simulation import processes
from tests.simulation.actors.people import finished
from tests.simulation.bus import CLUSTER
from tests.simulation.cluster import JOBS, KUEUE, drawn_job, named
from tests.simulation.faults.weather import Fault
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.judging.verdict import demand, insist
from tests.simulation.judging.wire import newest_of
from tests.simulation.members.site import DECISION, cpu_milli, runs, waits
from tests.simulation.partitions.movers import Movers
from tests.simulation.partitions.strikes import Strikes
from tests.simulation.partitions.trees import Trees
from tests.simulation.shore import Shore
from tidegate.bus.streams import stream_names
from tidegate.kinds.names import PARTITION

Object = dict[str, Any]
PARTITIONS = (0, 1)
QUEUES = {
    "north-a": "north",
    "north-b": "north",
    "south-a": "south",
    "south-b": "south",
    "lone": "",
}
"""ClusterQueue, and the namespace of its jobs, to its cohort."""
TREES = {name: cohort or name for name, cohort in QUEUES.items()}
COHORTS = ("south",)
"""Those that are objects, too; the others exist by being named."""
NOMINAL_MILLI, ROUNDS, MOVES, STRIKES = 2_000, 12, 14, 5
PREEMPTION = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
FAULTS: dict[Fault, float] = {
    "unanswered": 0.02,
    "busy": 0.02,
    "watch_breaks": 0.02,
    "cut_before": 0.003,
    "cut_behind": 0.005,
    "unheard": 0.005,
    "disk": 0.01,
    "read_fails": 0.01,
    "event_lost": 0.02,
    "hole": 0.003,
    "skip": 0.01,
    "repeat": 0.05,
    "interleave": 0.01,
}


class Site(Shore):
    """The world of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=0.002)
        self.weather.chances |= {
            fault: chance for fault, chance in FAULTS.items() if self.random.random() < 0.5
        }
        self.both = [self._ledger_of(number) for number in PARTITIONS]
        self.preempts = seed % 2 == 1
        placed = {tree: self.random.choice(PARTITIONS) for tree in dict.fromkeys(TREES.values())}
        self._furnish(placed)
        nominal = {tree: NOMINAL_MILLI * n for tree, n in Counter(TREES.values()).items()}
        watches = [ledger.watch for ledger in self.both]
        self.trees = Trees(TREES, nominal, placed, watches, self._running)
        for number, ledger in enumerate(self.both):
            ledger.on_entry = partial(self.trees.take_in, number)
        self.movers = Movers(self.cluster, Random(f"movers {seed}"), _paths(), self._arrived)
        self.strikes = Strikes(self, seed)
        self.highest = 0
        self.bus.taken.told = self._told
        self.cluster.api.registry.state.listeners.append(self._see)

    def _ledger_of(self, partition: int) -> WatchedLedger:
        """Return a partition's ledger, in the database of all."""
        engine, now_us = self.ledger.engine, self.bus.now_us
        ledger = SqlLedger(engine, partition, clock_us=now_us)
        return WatchedLedger(ledger, SqlSnapshots(engine, partition), engine, self.bus.taken)

    def _furnish(self, placed: dict[str, int]) -> None:
        def made(kind: str, name: str, tree: str, spec: Object) -> Object:
            obj = named(kind, name, spec=spec)
            if placed[tree]:
                obj["metadata"]["annotations"] = {PARTITION: str(placed[tree])}
            return obj

        for name in COHORTS:
            answer = self.cluster.act(
                "admin", "POST", f"{KUEUE}/cohorts", made("Cohort", name, name, {})
            )
            assert answer.status == 201, answer.body
        for name, cohort in QUEUES.items():
            spec = _spec(cohort, preempts=self.preempts)
            queue = made("ClusterQueue", name, TREES[name], spec)
            self.cluster.act("admin", "POST", f"{KUEUE}/clusterqueues", queue)
            self.cluster.furnish(name, 0)

    def _bodies(self) -> dict[str, processes.Body]:
        api = self.cluster.api
        fields = {"i": processes.ingest(self.bus, api, lambda: self.kinds)}
        for number, ledger in enumerate(self.both):
            decide, _ = processes.scheduler(
                self.bus,
                partial(_given, ledger),
                partial(_given, f"ledger-{number}"),
                self.policy,
                partition=number,
            )
            act = processes.actuator(self.bus, api, partition=number)
            fields |= {f"s-{number}": decide, f"a-{number}": act}
        return fields

    # what people do

    async def people(self) -> None:
        """Submit Jobs to each queue, while trees are moved and services are struck."""
        around = asyncio.gather(self.movers.run(MOVES), self.strikes.run(STRIKES))
        for number in range(ROUNDS):
            for name in QUEUES:
                if self.random.random() < 0.5:
                    self._submit(name, number)
            await asyncio.sleep(self.random.uniform(0, 25))
        await around
        self.movers.settle()

    def _submit(self, queue: str, number: int) -> None:
        random = self.random
        made = drawn_job(random, f"job-{number}", [3.0, 30.0, 120.0])
        self.cluster.submit(queue, made)
        if random.random() < 0.1:
            body = {"propagationPolicy": "Background"}
            self.cluster.act("user", "DELETE", f"{JOBS.format(queue)}/job-{number}", body)

    def mend(self) -> None:
        """See ``Shore.mend``; there is nothing to do."""

    def _arrived(self, tree: str) -> int | None:
        """Return the partition that has a tree and says that its queues are active."""
        active = [
            condition["status"] == "True"
            for name, root in TREES.items()
            if root == tree
            for condition in self._queue(name).get("status", {}).get("conditions") or ()
            if condition["type"] == "Active"
        ]
        return self.trees.owners[tree] if active and all(active) else None

    def _queue(self, name: str) -> Object:
        fields: Object | None
        fields = self.cluster.api.registry.state.get("clusterqueues.kueue.x-k8s.io", "", name)
        assert fields is not None
        return fields

    def _running(self, tree: str) -> list[str]:
        """Return the uids of a tree's Jobs that run and that no user deletes."""
        return [
            job["metadata"]["uid"]
            for job in self.cluster.jobs()
            if TREES[job["metadata"]["namespace"]] == tree
            and not (waits(job) or finished(job) or "deletionTimestamp" in job["metadata"])
        ]

    # what must hold

    def _told(self, ledger_id: str) -> int:
        """Return the newest entry of a ledger that the EVENTS of its partition keeps."""
        streams = (
            self.bus.server.streams.get(stream_names(CLUSTER, partition).events)
            for partition in PARTITIONS
        )
        return max(int(newest_of(each, ledger_id) or 0) for each in streams if each is not None)

    async def watch(self) -> None:
        """Count what runs, and say again what a judge objected to on the way."""
        while True:
            insist()
            self._count_running()
            await asyncio.sleep(0.2)

    def _count_running(self) -> None:
        """Object if more runs in a tree than it has quota, whichever partition decides about it."""
        milli = Counter[str]()
        for pod in self.cluster.api.registry.state.items("pods"):
            if runs(pod):
                milli[TREES[pod["metadata"]["namespace"]]] += cpu_milli(pod)
        for tree, amount in milli.items():
            most = self.trees.nominal_milli[tree]
            demand(amount <= most, "quota", f"{amount}m of {most}m run in {tree}")
        self.highest = max(self.highest, *milli.values(), 0)
        demand(self.preempts or not self.trees.stops, "repair", "a move stops a job")

    def _see(self, change: Change) -> None:
        """Object to a start that the tree's partition of this moment did not order."""
        before, after = change.before, change.after
        if change.resource != "jobs.batch" or before is None or after is None:
            return
        if self.cluster.acting or not waits(before) or waits(after):
            return
        meta = after["metadata"]
        decision = meta.get("annotations", {}).get(DECISION, "")
        text = f"{meta['name']} is started by {decision or 'no decision'}"
        partition, order = self.trees.orders.get(decision, (None, None))
        demand(order is not None and order.job.uid == meta["uid"], "once", text)
        owner = self.trees.owners[TREES[meta["namespace"]]]
        demand(owner == partition, "once", f"{text}, and its tree is {owner}'s")

    def unrest(self) -> str:
        """See ``Shore.unrest``."""
        for job in self.cluster.jobs():
            if not finished(job):
                return f"{job['metadata']['namespace']}/{job['metadata']['name']} is not finished"
        for ledger in self.both:
            if ledger.watch.holding:
                return f"{next(iter(ledger.watch.holding))} holds quota"
        if why := self.trees.unrest() or self._shown():
            return why
        return self.stirs(sum(len(ledger.entries) for ledger in self.both))

    def _shown(self) -> str:
        """Tell what is not shown as it is: a tree's place, a queue's emptiness, a job's end."""
        for tree, to in self.movers.wanted.items():
            if self._arrived(tree) != to:
                return f"{tree} is not open in {to}"
        for name in QUEUES:
            status = self._queue(name).get("status", {})
            counts = [status.get(f"{what}Workloads") for what in ("pending", "admitted")]
            if any(counts):
                return f"{name} shows {counts} workloads"
        for obj in self.cluster.api.registry.state.items("workloads.kueue.x-k8s.io"):
            if not _holds(obj, "Finished"):
                return f"{obj['metadata']['name']} is not shown as finished"
        return ""


def _spec(cohort: str, *, preempts: bool) -> Object:
    quota = [{"name": "cpu", "nominalQuota": f"{NOMINAL_MILLI}m"}]
    flavors = [{"name": "default", "resources": quota}]
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
    }
    spec |= {"cohortName": cohort} if cohort else {}
    return spec | ({"preemption": PREEMPTION} if preempts else {})


def _paths() -> dict[str, list[str]]:
    """Return the paths of each tree's objects, below Kueue's API."""
    mapping = {tree: list[str]() for tree in TREES.values()}
    for name in COHORTS:
        mapping[name].append(f"cohorts/{name}")
    for name, tree in TREES.items():
        mapping[tree].append(f"clusterqueues/{name}")
    return mapping


def _holds(workload: Object, condition: str) -> bool:
    conditions = workload.get("status", {}).get("conditions") or ()
    return any(
        candidate_condition["type"] == condition and candidate_condition["status"] == "True"
        for candidate_condition in conditions
    )


def _given(what: Any) -> Any:  # noqa: ANN401 - whatever it is
    return what
