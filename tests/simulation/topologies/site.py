"""A queue whose flavor has a topology, people with Jobs, nodes to which things happen, and a judge.

Whoever watches the pods knows where the ledger put their workload (``places``), and nothing else.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec

from apiserver.state import Change
from tests.simulation.actors.people import finished
from tests.simulation.cluster import CRDS, JOBS, KUEUE, job, named
from tests.simulation.judging.verdict import demand, insist
from tests.simulation.shore import Shore
from tests.simulation.topologies.nodes import Nodes
from tests.simulation.topologies.places import RACK, Places
from tidegate.model.topology import HOSTNAME

Object = dict[str, Any]
TEAM, GATE = "team-r", "kueue.x-k8s.io/topology"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NOTE = "kueue.x-k8s.io/podset-{}-topology"
JOBS_MAX, HAPPENINGS, QUIET_S = 10, 4, 30.0
WORKLOAD, PODSET = "kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset"


class Site(Shore):
    """The world of one seed."""

    topologies = True

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=0.003)
        self.weather.chances |= {"unanswered": 0.02, "busy": 0.02, "watch_breaks": 0.02}
        self.places, self._read, self._quiet_s = Places(), 0, 0.0
        self.let_go = 0
        self._furnish()
        self.nodes = Nodes(self.cluster, Random(f"nodes {seed}"))
        self.cluster.api.registry.state.listeners.append(self._see)

    def _furnish(self) -> None:
        definition = msgspec.yaml.decode((CRDS / "topologies.kueue.x-k8s.io.yaml").read_bytes())
        self._do("POST", DEFINITIONS, definition)
        levels = [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]
        self._do("POST", f"{KUEUE}/topologies", named("Topology", "racks", spec={"levels": levels}))
        spec: Object = {"nodeLabels": {"kind": "placed"}, "topologyName": "racks"}
        self._do("POST", f"{KUEUE}/resourceflavors", named("ResourceFlavor", "hosts", spec=spec))
        quota = [{"name": "cpu", "nominalQuota": "20"}]
        flavors = [{"name": "hosts", "resources": quota}]
        queue: Object = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
        }
        self.cluster.furnish(TEAM, 0, queue)

    def _do(self, method: str, path: str, body: Object) -> None:
        answer = self.cluster.act("admin", method, path, body)
        assert answer.status < 300, answer.body

    async def people(self) -> None:
        """Submit Jobs, delete one now and then, and let things happen to nodes meanwhile."""
        for number in range(JOBS_MAX):
            self._submit(number)
            for _ in range(HAPPENINGS):
                await asyncio.sleep(self.random.uniform(0, 3))
                self.nodes.happen()
            self.nodes.collect()
            if self.random.random() < 0.1:
                body = {"propagationPolicy": "Background"}
                self.cluster.act("user", "DELETE", f"{JOBS.format(TEAM)}/job-{number}", body)

    def _submit(self, number: int) -> None:
        random = self.random
        pods = random.choice([1, 2, 4, 6])
        made = job(
            f"job-{number}",
            pods=pods,
            cpu_milli=random.choice([500, 1_000]),
            seconds=random.choice([3.0, 15.0, 40.0]),
            priority=random.choice(["low", "high"]),
        )
        notes = made["spec"]["template"]["metadata"]["annotations"]
        match random.randrange(5):
            case 0 if pods <= 4:
                notes[NOTE.format("required")] = RACK
            case 1:
                notes[NOTE.format("preferred")] = RACK
            case 2 if pods % 2 == 0:
                notes[NOTE.format("slice-required")] = RACK
                notes["kueue.x-k8s.io/podset-slice-size"] = "2"
            case 3:
                notes[NOTE.format("unconstrained")] = "true"
            case _:
                pass
        made["spec"]["completionMode"] = random.choice(["Indexed", "NonIndexed"])
        self.cluster.submit(TEAM, made)

    def mend(self) -> None:
        self.nodes.mend()
        self.nodes.collect()
        for one in self.cluster.jobs():  # of some pods were done before they had to leave
            key = f"{TEAM}/job-{one['metadata']['name']}-"
            if any(name.startswith(key) for name in self.places.hopeless):
                body = {"propagationPolicy": "Background"}
                name = one["metadata"]["name"]
                self.cluster.act("user", "DELETE", f"{JOBS.format(TEAM)}/{name}", body)

    async def watch(self) -> None:
        """Follow the ledger for ever, and say again what somebody objected to on the way."""
        while True:
            insist()
            self._follow()
            await asyncio.sleep(0.1)

    def _follow(self) -> None:
        entries = self.ledger.entries
        for entry in entries[self._read :]:
            self.places.take_in(entry)
        self._read = len(entries)

    def _see(self, change: Change) -> None:
        """Object to a pod that is let go anywhere but into a domain of its workload."""
        pod = change.after
        if (
            change.resource != "pods"
            or pod is None
            or PODSET not in pod["metadata"].get("labels", {})
        ):
            return
        if change.before is None or not _is_gated(change.before) or _is_gated(pod):
            return
        self._follow()
        self.let_go += 1
        meta, host = pod["metadata"], pod["spec"].get("nodeSelector", {}).get(HOSTNAME, "")
        demand(
            not self.cluster.acting, "once", f"{meta['name']} is let go by {self.cluster.acting}"
        )
        key = f"{meta['namespace']}/{meta['annotations'][WORKLOAD]}"
        own = self.places.told.get(key, set())
        demand(host in own, "once", f"{meta['name']} is let go to {host}, and {key} has {own}")
        there = self._living(key, host)
        most = self.places.most[key, host]
        demand(there <= most, "once", f"{there} pods of {key} are let go to {host}: {most} places")

    def _living(self, key: str, host: str) -> int:
        found = self.cluster.api.registry.state.items("pods")
        return sum(_is_of(one, key, host) for one in found)

    def unrest(self) -> str:
        for one in self.cluster.jobs():
            if not finished(one):
                return f"{one['metadata']['name']} is not finished"
        if self.ledger.watch.holding or self.places.held:
            return "somebody holds quota"
        if any(_is_gated(one) for one in self.cluster.api.registry.state.items("pods")):
            return "a pod waits"
        return self._stirs()

    def _stirs(self) -> str:
        """Tell whether anything was decided lately."""
        now_s, news = asyncio.get_running_loop().time(), len(self.ledger.entries)
        if news != self._last:
            self._last, self._quiet_s = news, now_s
        return "" if now_s - self._quiet_s > QUIET_S else "something was told lately"

    _last = 0


def _is_gated(pod: Object) -> bool:
    return any(one["name"] == GATE for one in pod["spec"].get("schedulingGates") or ())


def _is_of(pod: Object, key: str, host: str) -> bool:
    """Tell whether a pod of a workload was let go to a host, and has not ended."""
    meta, spec = pod["metadata"], pod["spec"]
    named_ = f"{meta['namespace']}/{meta.get('annotations', {}).get(WORKLOAD, '')}"
    mine = named_ == key and spec.get("nodeSelector", {}).get(HOSTNAME) == host
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    leaves = "deletionTimestamp" in meta and not spec.get("nodeName")
    return mine and not (_is_gated(pod) or ended or leaves)
