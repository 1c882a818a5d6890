"""Nothing of what is gone stays in a service or a reader, however many objects come and go."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.parts.growth import kept_entries
from tests.parts.virtual import run_virtually
from tests.simulation.cluster import CRDS, KUEUE, QUEUE_LABEL, job, named
from tests.simulation.faults.api_port import RELIST_S
from tests.simulation.readers import Readers
from tests.simulation.shore import Shore
from tidegate.model.policy import Policy

Object = dict[str, Any]
SERVICES = ("actuator.", "ingest.", "scheduler.", "store.", "tidegate.")
LIMITS = (
    "actuator.writing.event_recorder.REFUSED_MAX",
    "ingest.publish.GONE_MAX",
    "tidegate.bus.provenance.HASHES_MAX",
    "tidegate.core.state.state.CACHED_MAX",
    "tidegate.core.state.scheduling_queue.EMPTY_SHAPES_MAX",
    "tidegate.core.queueing.heads.OUTDATED_MAX",
    "tidegate.cli.live.follow.FORGOTTEN_EACH",
    "tidegate.notify.rules._OVER_MAX",
    "tidegate.serve.ledger.live.FORGOTTEN_EACH",
    "tidegate.serve.ledger.past.BYTES_MAX",
)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GATE = "kueue.x-k8s.io/admission"
REMAINDER_MAX = 2
"""What a generation may leave in a bounded container."""
FIRST, SECOND = 3, 9


class Generations(Shore):
    """Tenants with all that they need, who come, work and are gone, one after another."""

    kinds = ("batch/job", "workload", "pod", "pod-group")
    topologies = provisions = True

    def __init__(self, file: Path) -> None:
        super().__init__(1, death=0.0)
        self.readers = Readers(file, self.ledger)
        self.policy = Policy(fair_sharing=("LessThanInitialShare",))
        self.made = list[str]()
        self.counts = list[Counter[str]]()

    async def people(self) -> None:
        topology = msgspec.yaml.decode((CRDS / "topologies.kueue.x-k8s.io.yaml").read_bytes())
        self.cluster.act("admin", "POST", DEFINITIONS, topology)
        await asyncio.sleep(30)
        for number in range(1, SECOND + 1):
            self._furnish(f"tenant-{number}", number)
            await asyncio.sleep(5)
            self._submit(f"tenant-{number}", number)
            await asyncio.sleep(30)
            await self._leave()
            self.readers.read()
            if number in {FIRST, SECOND}:
                await asyncio.sleep(2 * RELIST_S)
                self.readers.read()
                self.counts.append(kept_entries(*SERVICES))

    def make(self, collection: str, made: Object) -> None:
        answer = self.cluster.act("user", "POST", collection, made)
        assert answer.status == 201, answer.body
        self.made.append(f"{collection}/{made['metadata']['name']}")

    def _furnish(self, name: str, number: int) -> None:
        levels = [{"nodeLabel": "block"}, {"nodeLabel": "kubernetes.io/hostname"}]
        self.make("/api/v1/namespaces", {"metadata": {"name": name}})
        self.make("/api/v1/nodes", _node(name))
        self.make(f"{KUEUE}/topologies", named("Topology", name, spec={"levels": levels}))
        flavor = {"nodeLabels": {"block": name}, "topologyName": name}
        self.make(f"{KUEUE}/resourceflavors", named("ResourceFlavor", name, spec=flavor))
        self.make(f"{KUEUE}/cohorts", named("Cohort", name, spec={}))
        check = named("AdmissionCheck", name, spec={"controllerName": "example.com/check"})
        self.make(f"{KUEUE}/admissionchecks", check)
        priority = named("WorkloadPriorityClass", name, value=number)
        self.make(f"{KUEUE}/workloadpriorityclasses", priority)
        priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
        self.make(priorities, {"metadata": {"name": name}, "value": number})
        self.make(f"{KUEUE}/clusterqueues", named("ClusterQueue", name, spec=_queue_spec(name)))
        for queue, target in (("main", name), ("lost", f"none-{number}")):
            made = named("LocalQueue", queue, spec={"clusterQueue": target})
            self.make(f"{KUEUE}/namespaces/{name}/localqueues", made)

    def _submit(self, name: str, number: int) -> None:
        for place, cpu in (("main", 500 + number), ("main", 9_000), ("lost", 500), ("none", 500)):
            made = job(f"{place}-{cpu}", pods=2, cpu_milli=cpu, seconds=4, priority=name)
            made["metadata"]["labels"][QUEUE_LABEL] = place
            made["spec"]["template"]["spec"]["priorityClassName"] = name
            if cpu == 500 + number:
                notes = made["spec"]["template"]["metadata"]["annotations"]
                notes["kueue.x-k8s.io/podset-required-topology"] = "block"
            self.make(f"/apis/batch/v1/namespaces/{name}/jobs", made)
        for pod, group in (("single", ""), ("one", "pair"), ("two", "pair"), ("half", "halves")):
            self.make(f"/api/v1/namespaces/{name}/pods", _pod(pod, group))

    async def _leave(self) -> None:
        """Delete everything, the newest first."""
        while self.made:
            answer = self.cluster.act("user", "DELETE", self.made.pop(), {})
            assert answer.status in {200, 202, 404}, answer.body
            await asyncio.sleep(0.5)
        await asyncio.sleep(30)

    async def watch(self) -> None:
        await asyncio.Event().wait()

    def unrest(self) -> str:
        return ""

    def mend(self) -> None:
        """Do nothing: nothing fails here."""


def _node(name: str) -> Object:
    labels = {"block": name, "kubernetes.io/hostname": name}
    ready = {"type": "Ready", "status": "True"}
    status = {"allocatable": {"cpu": "100", "pods": "100"}, "conditions": [ready]}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


def _queue_spec(name: str) -> Object:
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": "6"}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    return {
        "namespaceSelector": {},
        "cohortName": name,
        "resourceGroups": groups,
        "preemption": preemption,
    }


def _pod(name: str, group: str) -> Object:
    labels, notes = {QUEUE_LABEL: "main", "kueue.x-k8s.io/managed": "true"}, {}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
        notes["kueue.x-k8s.io/pod-group-total-count"] = "2"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
    notes["simulate/seconds"] = "4"
    spec = {
        "restartPolicy": "Never",
        "containers": [container],
        "schedulingGates": [{"name": GATE}],
    }
    return {
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": spec,
    }


def test_no_service_grows_by_tenants_that_are_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for limit in LIMITS:
        monkeypatch.setattr(limit, 1)
    world = run_virtually(_lived(tmp_path / "ledger.db"))
    before, after = world.counts
    grown = {place: count - before[place] for place, count in after.items()}
    assert {place: count for place, count in grown.items() if count > REMAINDER_MAX} == {}
    ordered = {order.workload.partition("/")[0] for order in world.ledger.watch.newest.values()}
    assert (len(ordered), world.deaths) == (SECOND, 0)  # all of them worked
    assert world.readers.notices > SECOND


async def _lived(file: Path) -> Generations:
    world = Generations(file)
    with closing(world.readers):
        await world.run()
    return world
