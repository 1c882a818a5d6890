"""The life of a job of each kind: created, suspended, placed, running, preempted, finished.

A flavor gives its nodes' label and a toleration; they stand in every template while the job runs,
and after a preemption the spec is what its owner wrote, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import Act, has_condition
from tests.e2e.cast import KUEUE, define, tidegate, until
from tests.e2e.kinds import ACTS
from tests.e2e.operators import at_work
from tidegate.cluster.go.plane import NODES_COUNT
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kinds.manifests import policies
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
NODES = {"tide": "spring"}
TOLERATION = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
PRIORITY = "kueue.x-k8s.io/priority-class"
INJECTED = "tidegate.dev/injected"


async def test_a_job_is_placed_run_preempted_as_it_was_and_finished(
    api: KubernetesApi, own_api: str, tmp_path: Path, act: Act
) -> None:
    await prepare(api, act)
    config = tmp_path / "configuration.yaml"
    config.write_text(configuration(act))
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))
    async with at_work(api, act.operator), run_services(wanted, print) as running:
        made = await create(api, act, "low", 12)
        assert act.is_suspended(made)
        await until(seen(api, act, "low", act.active), "it runs")
        check_placed(act, await read(api, act, "low"))
        await create(api, act, "high", 4)
        await until(seen(api, act, "low", restored(act)), "it is suspended and restored")
        stopped = await read(api, act, "low")
        assert msgspec.json.encode(stopped["spec"]) == msgspec.json.encode(made["spec"])
        for name in ("high", "low"):
            await end(api, act, name)
        await until(lambda: workloads_ended(api, act), "both Workloads say so")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


OFTEN = ("life-job", "life-jobset")
"""Lived by each run of CI; the others by make test-all."""
LIVES = [
    pytest.param(act, id=act.namespace, marks=[] if act.namespace in OFTEN else [pytest.mark.slow])
    for act in ACTS
]


@pytest.fixture(params=LIVES)
def act(request: pytest.FixtureRequest) -> Act:
    param: Act = request.param
    return param


def check_placed(act: Act, obj: Object) -> None:
    assert not act.is_suspended(obj)
    for template in act.templates(obj):
        assert template["spec"]["nodeSelector"] == NODES
        assert (TOLERATION in template["spec"].get("tolerations", ())) == act.tolerates
        assert "kueue.x-k8s.io/podset" in template["metadata"]["labels"]


def restored(act: Act) -> Callable[[Object], bool]:
    def holds(obj: Object) -> bool:
        marks = obj["metadata"].get("annotations", {})
        return act.is_suspended(obj) and INJECTED not in marks

    return holds


def configuration(act: Act) -> str:
    manifest: Object = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "integrations": {"frameworks": list(act.frameworks)},
    }
    if act.gates:
        manifest["featureGates"] = dict.fromkeys(act.gates, True)
    if act.declared is not None:
        manifest["integrations"]["externalFrameworks"] = [act.declared.name]
        manifest["tidegate.dev"] = {"kinds": [act.declared]}
    return msgspec.yaml.encode(manifest).decode()


async def prepare(api: KubernetesApi, act: Act) -> None:
    """Define the kind, its policies, two priorities, labelled nodes and a queue of 2 CPUs."""
    for manifest in (*([act.crd] if act.crd else []), *act.also):
        await define(api, manifest)
    for policy in policies(act.frameworks, () if act.declared is None else (act.declared,)):
        await apply(api, policy)
    for node in await nodes(api):
        body = msgspec.json.encode({"metadata": {"labels": NODES}})
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    for manifest in queue_objects(act):
        await apply(api, manifest)
    await until(lambda: is_born_suspended(api, act), "its policy is in force")


async def nodes(api: KubernetesApi) -> list[Object]:
    """Wait until every node is registered."""
    documents = list[Object]()

    async def registered() -> bool:
        documents[:] = (await get(api, "/api/v1/nodes"))["items"]
        return len(documents) == NODES_COUNT

    await until(registered, "the nodes are registered")
    return documents


def queue_objects(act: Act) -> list[Object]:
    name = act.namespace
    quota = [{"name": "cpu", "nominalQuota": "2"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": quota}]}
    queue: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    queue["preemption"] = {"withinClusterQueue": "LowerPriority"}
    flavor = {"nodeLabels": NODES, "tolerations": [TOLERATION] if act.tolerates else []}
    values = {"low": 1, "high": 10}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        *(kueue("WorkloadPriorityClass", text, value=value) for text, value in values.items()),
        kueue("ResourceFlavor", name, spec=flavor),
        kueue("ClusterQueue", name, spec=queue),
        kueue("LocalQueue", name, name, spec={"clusterQueue": name}),
    ]


def kueue(kind: str, name: str, namespace: str = "", **fields: object) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, **fields}


async def is_born_suspended(api: KubernetesApi, act: Act) -> bool:
    body = msgspec.json.encode(act.make("probe", act.namespace, 1))
    answer = await api.request("POST", act.collection, query={"dryRun": "All"}, body=body)
    return answer.status == 201 and act.is_suspended(msgspec.json.decode(answer.body))


async def create(api: KubernetesApi, act: Act, name: str, seconds: float) -> Object:
    obj = act.make(name, act.namespace, seconds)
    obj["metadata"]["labels"] |= {PRIORITY: name}
    answer = await api.request("POST", act.collection, body=msgspec.json.encode(obj))
    assert answer.status == 201, answer.body
    made: Object = msgspec.json.decode(answer.body)
    return made


async def read(api: KubernetesApi, act: Act, name: str) -> Object:
    return await get(api, f"{act.collection}/{name}")


def seen(
    api: KubernetesApi, act: Act, name: str, holds: Callable[[Object], bool]
) -> Callable[[], Any]:
    async def look() -> bool:
        return holds(await read(api, act, name))

    return look


async def end(api: KubernetesApi, act: Act, name: str) -> None:
    """Wait for a job's end; one that serves is deleted once it runs."""
    if act.finished is not None:
        await until(seen(api, act, name, act.finished), f"{name} finishes", patience_s=120)
        return
    await until(seen(api, act, name, act.active), f"{name} serves", patience_s=120)
    body = msgspec.json.encode({"propagationPolicy": "Background"})
    await api.request("DELETE", f"{act.collection}/{name}", body=body)


async def workloads_ended(api: KubernetesApi, act: Act) -> bool:
    value = (await get(api, f"/apis/{KUEUE}/namespaces/{act.namespace}/workloads"))["items"]
    gone = act.finished is None
    return gone == (not value) and all(has_condition(workload, "Finished") for workload in value)


async def get(api: KubernetesApi, path: str) -> Object:
    document: Object = msgspec.json.decode((await api.request("GET", path)).body)
    return document
