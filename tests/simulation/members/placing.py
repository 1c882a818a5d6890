"""The world of members with placed jobs: what was made in one cluster runs in another.

Half of the Jobs of each cluster are made for a LocalQueue that places them. At most one cluster
runs an unsuspended copy of a Job, and at rest no copy is left. Another cluster that takes a
member's name accepts no placed jobs: what its services say of that must not count either.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from apiserver.state import Change
from tests.simulation import processes, small_worlds
from tests.simulation.bus import CLUSTER
from tests.simulation.cluster import KUEUE, Cluster, drawn_job
from tests.simulation.judging.verdict import demand
from tests.simulation.members.impostors import uid_of
from tests.simulation.members.site import (
    MEMBERS,
    RESTORED_S,
    TEAM,
    Site,
    now_s,
    waits,
)
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved
from tidegate.contracts.facts import FactEvent, WorkloadAdopted
from tidegate.kinds.names import ACCEPTS_PLACED, ORIGIN, PLACED, PLACEMENT
from tidegate.model.clusters import AT

Object = dict[str, Any]


class PlacingSite(Site):
    """The world of one seed."""

    def __init__(self, seed: int) -> None:
        self._placed_in = dict[str, str]()  # workload to the cluster of its quota
        self.placed = 0
        super().__init__(seed)
        self.kinds = ("batch/job",)
        self.groups.clear()
        annotations = {"metadata": {"annotations": {PLACEMENT: "any"}}}
        path = f"{KUEUE}/namespaces/{TEAM}/localqueues/spare"
        self.cluster.act("admin", "PATCH", path, annotations)
        for name in MEMBERS:
            label = {"metadata": {"labels": {ACCEPTS_PLACED: "true"}}}
            self.clusters[name].act("admin", "PATCH", f"/api/v1/namespaces/{TEAM}", label)

    def _bodies(self) -> dict[str, processes.Body]:
        decide, _ = processes.scheduler(
            self.bus, lambda: self.ledger, lambda: "ledger", self.policy, MEMBERS
        )
        fields = {"s": decide}
        for name, cluster in self.clusters.items():
            uid, api = uid_of(name), cluster.api
            observe = processes.ingest(
                self.bus, api, lambda: self.kinds, cluster=name, cluster_uid=uid, places=True
            )
            act = processes.actuator(self.bus, api, cluster=name, cluster_uid=uid, places=True)
            fields |= {f"i-{name}": observe, f"a-{name}": act}
        return fields | self.impostor.bodies(fields, places=True)

    def _submit(self, cluster: Cluster, number: int) -> None:
        super()._submit(cluster, number)
        random = self.random
        made = drawn_job(
            random,
            f"placed-{number}-{'hew'[list(self.clusters.values()).index(cluster)]}",
            [3.0, 15.0, 40.0],
        )
        made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "spare"
        made["spec"]["managedBy"] = PLACED
        cluster.submit(TEAM, made)

    def _follow(self) -> None:
        self._read_entries()
        for workload, held in self.ledger.watch.holding.items():
            home = workload.rpartition(AT)[2] if AT in workload else CLUSTER
            where = self._placed_in.get(workload) or home
            demand(held.flavor == where, "quota", f"{workload} has quota of {held.flavor}")
            self.highest = max(self.highest, held.cpu)

    def _read_event(self, seq: int, event: FactEvent | DecisionEvent) -> None:
        if isinstance(event, QuotaReserved | WorkloadAdopted):
            self._placed_in[event.workload] = event.cluster
            self.placed += bool(event.cluster)
        super()._read_event(seq, event)

    def _see(self, name: str, change: Change) -> None:
        super()._see(name, change)
        if change.resource == "jobs.batch":
            self._count_copies()

    def _count_copies(self) -> None:
        """Object if copies of one Job run in two clusters, unless one was restored lately."""
        running = defaultdict[str, set[str]](set)
        for name, cluster in self.clusters.items():
            if now_s() - self.restored_s.get(name, -RESTORED_S) < RESTORED_S:
                continue
            for job in cluster.jobs():
                origin = job["metadata"].get("annotations", {}).get(ORIGIN)
                if origin and not waits(job):
                    running[origin].add(name)
        for origin, names in running.items():
            demand(len(names) == 1, "once", f"{origin} runs in {' and '.join(sorted(names))}")

    def unrest(self) -> str:
        """See ``Shore.unrest``; no copy is left behind."""
        for name, cluster in self.clusters.items():
            for job in cluster.jobs():
                if ORIGIN in job["metadata"].get("annotations", {}):
                    return f"a copy of {job['metadata']['name']} is left in {name}"
        return super().unrest()


def main(arguments: Sequence[str]) -> int:
    """Live through worlds one after another; return 1 if one does not hold."""
    name = "tests.simulation.members.placing"
    return small_worlds.live_all(arguments, name, __doc__, PlacingSite, _summary)


def _summary(site: PlacingSite) -> str:
    return (
        f"{len(site.ledger.entries)} entries, {site.placed} placements, {site.deaths} deaths, "
        f"moved: {site.moves.kind}, {site.moves.lost} entries lost"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
