"""64 simulated nodes in blocks, racks and hosts, a queue over them, and where pods are on them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.act import Act
from tests.e2e.cast import define, post, until
from tests.e2e.kinds import ACTS
from tests.e2e.test_job_kinds import get, kueue
from tidegate.cluster.install import apply
from tidegate.cluster.nodes.fleet import SimulatedNodes
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.kinds.kueue_api.workloads.conversion import topology_assignment
from tidegate.kinds.kueue_api.workloads.status import TopologyAssignment
from tidegate.kinds.manifests import policies
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.model.topology import HOSTNAME, unpack

Object = dict[str, Any]
NAME, BLOCK, RACK, FLAVOR = "racks", "example.com/block", "example.com/rack", "example.com/placed"
HOSTS = {
    f"b{block}-r{rack}-h{host}": {BLOCK: f"b{block}", RACK: f"b{block}-r{rack}", FLAVOR: "yes"}
    for block in range(2)
    for rack in range(4)
    for host in range(8)
}
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "20"}
PODS = f"/api/v1/namespaces/{NAME}/pods"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAME}/workloads"
JOBSET: Act = next(act for act in ACTS if act.framework == "jobset.x-k8s.io/jobset")


class Racks:
    """The namespace whose pods are placed."""

    def __init__(self, api: KubernetesApi, running: RunningServices) -> None:
        self.api, self.running = api, running

    async def make(self, path: str, obj: Object) -> None:
        answer = await post(self.api, path, obj)
        assert answer.status == 201, answer.body

    async def pods(self, of: str) -> list[Object]:
        """Return the pods whose names begin so and that have not ended, in the order of names."""
        value = (await get(self.api, PODS))["items"]
        mine = [obj for obj in value if obj["metadata"]["name"].startswith(of)]
        ended = ("Succeeded", "Failed")
        return [obj for obj in mine if obj["status"].get("phase") not in ended]

    async def workload(self, of: str) -> Object:
        """Return the Workload whose name has this in it; empty: there is none."""
        value = (await get(self.api, WORKLOADS))["items"]
        return next((obj for obj in value if of in obj["metadata"]["name"]), {})

    async def assigned(self, of: str, podset: str = "") -> Counter[str]:
        """Return how many pods of a workload, or of one podset of it, each host is to have."""
        status = (await self.workload(of)).get("status", {})
        hosts = Counter[str]()
        for assignment in status.get("admission", {}).get("podSetAssignments", ()):
            if podset not in ("", assignment["name"]):
                continue
            actual_topology_assignment = msgspec.convert(
                assignment["topologyAssignment"], TopologyAssignment
            )
            hosts += Counter(
                {
                    e.values[-1]: e.count
                    for e in unpack(topology_assignment(actual_topology_assignment))
                }
            )
        return hosts

    async def run(self, of: str, count: int, level: str, podset: str = "") -> dict[str, str]:
        """Wait until all pods run in one domain of a level, as assigned; return pods to hosts.

        ``of`` is how their names begin; a podset's end with its name.
        """
        mapping = dict[str, str]()

        async def as_they_should() -> bool:
            pods = await self.pods(f"{of}-{podset}" if podset else of)
            running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
            hosts = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in running}
            wanted = await self.assigned(of, podset)
            mapping.clear()
            mapping.update(hosts)
            return len(hosts) == count and Counter(hosts.values()) == wanted

        await until(as_they_should, f"{count} pods of {of} run where they shall", patience_s=120)
        assert len({HOSTS[host][level] for host in mapping.values()}) == 1
        return mapping

    async def seen(self, holds: Callable[[], Any], what: str) -> None:
        await until(holds, what, patience_s=120)


@dataclass(frozen=True)
class Enabled:
    """What the configuration names: kinds with their feature gates, and more of both."""

    acts: Sequence[Act] = (JOBSET,)
    others: Sequence[str] = ("pod",)
    gates: Sequence[str] = ()


@asynccontextmanager
async def racks(
    api: KubernetesApi, own_api: str, folder: Path, enabled: Enabled = Enabled()
) -> AsyncGenerator[Racks]:
    """Lend the nodes, with everything that runs on and beside them."""
    acts = enabled.acts
    config = folder / "configuration.yaml"
    named = [*(framework for act in acts for framework in act.frameworks), *enabled.others]
    frameworks = tuple(dict.fromkeys(named))
    gates = [*(gate for act in acts for gate in act.gates), *enabled.gates]
    manifest = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": frameworks},
        "featureGates": dict.fromkeys(gates, True),
    }
    config.write_bytes(msgspec.yaml.encode(manifest))
    crds = [obj for act in acts for obj in (*([act.crd] if act.crd else []), *act.also)]
    for obj in (*crds, *_objects()):
        await define(api, obj)
    for policy in policies(frameworks):
        await apply(api, policy)
    fleet = asyncio.create_task(SimulatedNodes(api, tuple(HOSTS), CAPACITY).run())
    wanted = RunOptions(state=folder, kubeconfig=Path(own_api), config=str(config))
    try:
        await _label(api)
        async with run_services(wanted, print) as running:
            yield Racks(api, running)
    finally:
        fleet.cancel()
        with suppress(asyncio.CancelledError):
            await fleet


def _objects() -> list[Object]:
    quota = {"name": "cpu", "nominalQuota": "256"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": [quota]}]}
    levels = [{"nodeLabel": text} for text in (BLOCK, RACK, HOSTNAME)]
    flavor = {"nodeLabels": {FLAVOR: "yes"}, "topologyName": NAME}
    queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}},
        kueue("Topology", NAME, spec={"levels": levels}),
        kueue("ResourceFlavor", NAME, spec=flavor),
        kueue("ClusterQueue", NAME, spec=queue),
        kueue("LocalQueue", NAME, NAME, spec={"clusterQueue": NAME}),
    ]


async def _label(api: KubernetesApi) -> None:
    """Put each node into its rack, and wait until the controller manager lets pods onto it."""

    async def labelled() -> bool:
        mapping = {
            obj["metadata"]["name"]: obj for obj in (await get(api, "/api/v1/nodes"))["items"]
        }
        for name, labels in HOSTS.items():
            if name in mapping and RACK not in mapping[name]["metadata"]["labels"]:
                body = msgspec.json.encode({"metadata": {"labels": labels}})
                path = f"/api/v1/nodes/{name}"
                await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        mine = [value for name, value in mapping.items() if name in HOSTS]
        ready = [obj for obj in mine if RACK in obj["metadata"]["labels"]]
        return len([obj for obj in ready if not obj["spec"].get("taints")]) == len(HOSTS)

    await until(labelled, "all nodes are in their racks", patience_s=90)
