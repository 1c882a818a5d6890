"""A queue whose flavor has a topology, people with Jobs, nodes to which things happen, and a judge.

By seed the queue has a check (1, 5 and 7 of each eight), Jobs are elastic (2, 5 and 6), there are
groups of pods of two roles (3, 4 and 7; of 4 each role is placed for itself), or racks stand in
blocks, and slices consist of slices (6).

The judge of the pods knows where the ledger put their workload (``places``), and nothing else.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec

from apiserver.state import Change
from tests.parts.stage import alongside
from tests.simulation.actors.checker import Checker
from tests.simulation.actors.growers import ELASTIC
from tests.simulation.actors.owners import CHECK
from tests.simulation.actors.people import finished
from tests.simulation.cluster import CRDS, JOBS, KUEUE, job, named
from tests.simulation.judging.verdict import demand, insist
from tests.simulation.shore import Shore
from tests.simulation.topologies.crews import CREWS_MAX, Crews
from tests.simulation.topologies.nodes import Nodes
from tests.simulation.topologies.places import RACK, Places
from tidegate.model.policy import Policy
from tidegate.model.topology import HOSTNAME

Object = dict[str, Any]
TEAM, GATE = "team-r", "kueue.x-k8s.io/topology"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROWING, GROWN_MAX = "ElasticJobsViaWorkloadSlicesWithTAS", 4
BLOCK = "block"
NOTE = "kueue.x-k8s.io/podset-{}-topology"
LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
JOBS_MAX, HAPPENINGS = 10, 4
WORKLOAD, PODSET = "kueue.x-k8s.io/workload", "kueue.x-k8s.io/podset"


class Site(Shore):
    """The world of one seed."""

    topologies = True

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=0.003)
        self.weather.chances |= {"unanswered": 0.02, "busy": 0.02, "watch_breaks": 0.02}
        self.places, self._read = Places(), 0
        self.let_go = 0
        kind = seed % 8
        self.checked, self.elastic, self.layered = kind in (1, 5, 7), kind in (2, 5, 6), kind == 6
        grouped = kind in (3, 4, 7)
        if grouped:
            self.kinds = ("batch/job", "pod", "pod-group")
        if self.elastic:
            self.policy = Policy(gates={GROWING: True})
        self._furnish()
        drawn = Random(f"others {seed}")
        self.checker = Checker(self.cluster, drawn)
        crews = CREWS_MAX if grouped else 0
        self.crews = Crews(self.cluster, TEAM, drawn, crews=crews, apart=kind == 4)
        self._growing = list[str]()
        self.nodes = Nodes(self.cluster, Random(f"nodes {seed}"))
        self.cluster.api.registry.state.listeners.append(self._see)

    def _furnish(self) -> None:
        definition = msgspec.yaml.decode((CRDS / "topologies.kueue.x-k8s.io.yaml").read_bytes())
        self._do("POST", DEFINITIONS, definition)
        names = (*((BLOCK,) if self.layered else ()), RACK, HOSTNAME)
        levels = [{"nodeLabel": name} for name in names]
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
        if self.checked:
            check = named("AdmissionCheck", CHECK, spec={"controllerName": "simulated/budget"})
            self._do("POST", f"{KUEUE}/admissionchecks", check)
            queue["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
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
                self._resize()
                self.crews.work()
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
            case 2 if pods % 2 == 0 and self.layered:
                sizes = (4, 2) if pods == 4 else (2, 1)
                layers = [
                    {"topology": level, "size": size}
                    for level, size in zip((BLOCK, RACK), sizes, strict=True)
                ]
                notes[LAYERS] = msgspec.json.encode(layers).decode()
            case 2 if pods % 2 == 0:
                notes[NOTE.format("slice-required")] = RACK
                notes["kueue.x-k8s.io/podset-slice-size"] = "2"
            case 3:
                notes[NOTE.format("unconstrained")] = "true"
            case _:
                pass
        made["spec"]["completionMode"] = random.choice(["Indexed", "NonIndexed"])
        if self.elastic and number % 2:
            self._let_grow(made)
        self.cluster.submit(TEAM, made)

    def _let_grow(self, made: Object) -> None:
        """Make a Job elastic: it may go anywhere, and has more to do than pods at once."""
        made["metadata"]["annotations"] = {ELASTIC: "true"}
        made["spec"] |= {"completions": GROWN_MAX + 2, "completionMode": "NonIndexed"}
        made["spec"]["parallelism"] = min(GROWN_MAX, made["spec"]["parallelism"])
        notes = made["spec"]["template"]["metadata"]["annotations"]
        seconds = notes["simulate/seconds"]
        notes.clear()
        notes |= {"simulate/seconds": seconds, NOTE.format("unconstrained"): "true"}
        self._growing.append(made["metadata"]["name"])

    def _resize(self) -> None:
        """Make an elastic Job larger or smaller now and then."""
        if self._growing and self.crews.random.random() < 0.5:
            name = self.crews.random.choice(self._growing)
            body = {"spec": {"parallelism": self.crews.random.randint(1, GROWN_MAX)}}
            self.cluster.act("user", "PATCH", f"{JOBS.format(TEAM)}/{name}", body)

    def mend(self) -> None:
        self.checker.settle()
        self.nodes.mend()
        self.nodes.collect()
        self.crews.work()
        for obj in self.cluster.api.registry.state.items("workloads.kueue.x-k8s.io"):
            if not obj["spec"].get("active", True):  # a check rejected it
                meta = obj["metadata"]
                path = f"{KUEUE}/namespaces/{meta['namespace']}/workloads/{meta['name']}"
                self.cluster.act("user", "PATCH", path, {"spec": {"active": True}})

    async def watch(self) -> None:
        """Follow the ledger for ever, and say again what a judge objected to on the way."""
        async with alongside(self.checker.run() if self.checked else asyncio.sleep(0)):
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
        job, podset = self._job_of(pod), meta["labels"][PODSET]
        own = self.places.told.get((job, podset), set())
        demand(host in own, "once", f"{meta['name']} is let go to {host}, and {job} has {own}")
        there = self._living(job, podset, host)
        most = self.places.most[job, podset, host]
        demand(there <= most, "once", f"{there} pods of {job} are let go to {host}: {most} places")

    def _job_of(self, pod: Object) -> str:
        """Return the uid of the job that a pod which was placed is of."""
        meta = pod["metadata"]
        named_ = f"{meta['namespace']}/{meta.get('annotations', {}).get(WORKLOAD, '')}"
        return self.places.jobs.get(named_, "")

    def _living(self, job: str, podset: str, host: str) -> int:
        documents = self.cluster.api.registry.state.items("pods")
        of = [obj for obj in documents if obj["metadata"].get("labels", {}).get(PODSET) == podset]
        return sum(_is_let_go(pod, host) for pod in of if self._job_of(pod) == job)

    def unrest(self) -> str:
        for obj in self.cluster.jobs():
            if not finished(obj):
                return f"{obj['metadata']['name']} is not finished"
        if self.ledger.watch.holding or self.places.held:
            return "a workload holds quota"
        if any(_is_gated(pod) for pod in self.cluster.api.registry.state.items("pods")):
            return "a pod waits"
        if why := self.crews.unrest():
            return why
        return self.stirs(len(self.ledger.entries))


def _is_gated(pod: Object) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates") or ())


def _is_let_go(pod: Object, host: str) -> bool:
    """Tell whether a pod was let go to a host, and has not ended."""
    meta, spec = pod["metadata"], pod["spec"]
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    leaves = "deletionTimestamp" in meta and not spec.get("nodeName")
    there = spec.get("nodeSelector", {}).get(HOSTNAME) == host
    return there and not (_is_gated(pod) or ended or leaves)
