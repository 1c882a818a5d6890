"""A queue with a topology: inactive without its Topology, and it admits what its nodes can take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import KUEUE, events_of, make_queues, until
from tests.e2e.living import Living, conditions
from tests.e2e.ordeal import alone
from tests.parts.stage import kueue
from tidegate.cluster.install import apply
from tidegate.cluster.running import run_services
from tidegate.contracts.decisions import QuotaReserved
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.model.topology import unpack

pytestmark = [pytest.mark.real, pytest.mark.slow]
NAME = "by-topology"
GROUP = f"/apis/{KUEUE}"
LEVELS = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]


async def read(api: KubernetesApi, path: str) -> Any:  # noqa: ANN401 - an object or a list
    return msgspec.json.decode((await api.request("GET", path)).body)


async def label(api: KubernetesApi) -> int:
    """Put all nodes into one rack; return how many CPUs each has."""
    nodes = (await read(api, "/api/v1/nodes"))["items"]
    body = msgspec.json.encode({"metadata": {"labels": {"rack": "r1"}}})
    for node in nodes:
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200
    return int(nodes[0]["status"]["allocatable"]["cpu"])


async def test_a_queue_is_active_with_its_topology_and_admits_what_its_nodes_can_take(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    cpu = await label(api)
    await make_queues(api, {NAME: "1000"})
    await apply(
        api, kueue("ResourceFlavor", "any", nodeLabels={"rack": "r1"}, topologyName="racks")
    )
    living, queue = Living(api, NAME), f"{GROUP}/clusterqueues/{NAME}"

    async def shows(wanted: str) -> bool:
        return wanted in conditions(await read(api, queue))

    async with run_services(alone(tmp_path, own_api), print) as running:
        await until(lambda: shows("Active=False TopologyNotFound"), "the queue is inactive")
        await apply(api, kueue("Topology", "racks", levels=LEVELS))
        await until(lambda: shows("Active=True Ready"), "the queue is active")
        await living.make("large", cpu=str(cpu + 1))
        await living.shows("large", "QuotaReserved=False TopologyPlacementFailed")
        await living.make("small", cpu="1", pods=2)
        await living.shows("small", "Admitted=True Admitted")
        reserved = events_of(running.ledger, QuotaReserved)
        (given,) = next(event for event in reserved if event.cluster_queue == NAME).assignment
        assert given.topology is not None
        assert sum(topology_domain.count for topology_domain in unpack(given.topology)) == 2
