"""From a running Kueue to Tidegate and back: every kind runs on, on the quota that it had.

What was admitted is taken over as it is: no pod ends, no object's spec changes, and the queue is as
full as before. What Tidegate leaves differs from that in its own marks alone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.cast import Object, events_of, submit, tidegate, until
from tests.e2e.kinds import ACTS
from tests.e2e.left_behind import Kueue, define_kinds, served
from tests.e2e.living import configured
from tests.e2e.lws import leader_worker_sets, numbering
from tests.e2e.operators import at_work
from tests.e2e.test_job_kinds import kueue, nodes
from tests.parts.foreign import foreign_crd
from tests.parts.kubernetes import new_api as own_api
from tidegate.cli.commands.manifests import manifests_of_configuration
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.contracts.decisions import StopOrdered, WorkloadEvicted
from tidegate.contracts.facts import WorkloadAdopted
from tidegate.core.quota.requests import parse_nano
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.service.config.configuration import read_configuration

__all__ = ["own_api"]
pytestmark = [pytest.mark.real, pytest.mark.slow]  # of Jobs test_left_by_kueue shows it
NAMESPACE = "migrated"
KINDS = tuple(act for act in ACTS if act.declared is None)
SERVED = ("pod", "deployment", *served(NAMESPACE))
FRAMEWORKS = tuple(dict.fromkeys((*(act.framework for act in KINDS), *SERVED)))
CONFIGURATION = (
    f"integrations: {{frameworks: [{', '.join(FRAMEWORKS)}]}}\n"
    "featureGates: {SparkApplicationIntegration: true}\n"
)
PODS = 2 * len(KINDS) + 1 + 2 + 2 + 2 + 2
"""Each act has two; then a pod, a group, a Deployment, a StatefulSet, a LeaderWorkerSet."""
QUEUE = f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{NAMESPACE}"


async def test_every_kind_runs_on_under_tidegate_and_is_left_as_it_was(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await define(api)
    async with operators(api):
        before = await leave(api)
        await until(lambda: all_run(before), "all that Kueue started runs", patience_s=300)
        pods, objects, shown = await states(before)
        wanted = configured(tmp_path, own_api, CONFIGURATION)
        await install(api, wanted)
        async with run_services(wanted, print) as running:
            adopted = partial(is_taken_over, before, running, len(shown))
            await until(adopted, "all is adopted", patience_s=300)
            await submit(api, NAMESPACE, "late", cpu="200m", seconds=1)
            await until(lambda: is_held(before), "the queue is full")
            assert events_of(running.ledger, StopOrdered) == []
            assert events_of(running.ledger, WorkloadEvicted) == []
            tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
        assert await states(before) == (pods, objects, shown)


@asynccontextmanager
async def operators(api: KubernetesApi) -> AsyncGenerator[None]:
    """Let the controllers of all kinds work beside the test."""
    path = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAMESPACE}/leaderworkersets"
    async with AsyncExitStack() as stack:
        for act in KINDS:
            operator = replace(act, namespace=NAMESPACE).operator
            await stack.enter_async_context(at_work(api, operator))
        await stack.enter_async_context(leader_worker_sets(api, path))
        yield


async def define(api: KubernetesApi) -> None:
    """Define the kinds, a namespace, and nodes of the flavor."""
    await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    await define_kinds(api, KINDS, foreign_crd("leaderworkerset"), *numbering())
    for node in await nodes(api):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        body = b'{"metadata": {"labels": {"tide": "spring"}}}'
        await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)


async def leave(api: KubernetesApi) -> Kueue:
    """Make a job of each kind as Kueue left it, and a queue that they fill."""
    made = Kueue(api, NAMESPACE)
    for act in KINDS:
        await made.start(act)
    await made.alone("alone")
    await made.group("together")
    await made.deploy("web")
    for name, (path, fields) in served(NAMESPACE).items():
        await made.serve(name, path, fields)
    quota = [{"name": "cpu", "nominalQuota": f"{made.cpu_milli}m"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAMESPACE, "resources": quota}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    for manifest in (
        kueue("ResourceFlavor", NAMESPACE, spec={"nodeLabels": {"tide": "spring"}}),
        kueue("ClusterQueue", NAMESPACE, spec=spec),
        kueue("LocalQueue", NAMESPACE, NAMESPACE, spec={"clusterQueue": NAMESPACE}),
    ):
        await apply(api, manifest)
    return made


async def install(api: KubernetesApi, wanted: RunOptions) -> None:
    """Give the cluster what the configuration asks for, as the guide says."""
    for manifest in manifests_of_configuration(read_configuration(wanted.config)):
        await apply(api, manifest)


async def all_run(made: Kueue) -> bool:
    return len(await made.running()) == PODS


async def states(made: Kueue) -> tuple[dict[str, str], list[Object], dict[str, Object]]:
    """Return the pods that run, the jobs without marks, and what their Workloads say."""
    paths = {replace(act, namespace=NAMESPACE).collection: None for act in KINDS}
    objects = [obj for path in paths for obj in (await made.read(path))["items"]]
    objects += [
        obj for path, _ in served(NAMESPACE).values() for obj in (await made.read(path))["items"]
    ]
    workloads = {
        obj["metadata"]["name"]: {
            "spec": obj["spec"],
            "admission": obj["status"]["admission"],
            "owners": obj["metadata"]["ownerReferences"],
            "holds": sorted(
                condition["type"]
                for condition in obj["status"]["conditions"]
                if condition["status"] == "True"
                and condition["type"] in ("QuotaReserved", "Admitted", "Evicted", "Finished")
            ),
        }
        for obj in (await made.read(made.path))["items"]
        if obj.get("status", {}).get("admission")
    }
    ours = [obj for obj in objects if obj["metadata"]["name"] != "late"]
    return await made.running(), [unmarked(obj) for obj in ours], workloads


def unmarked(obj: Object) -> Object:
    """Return an object's spec, and its metadata without what the API server or Tidegate wrote."""
    meta = obj["metadata"]
    notes = {
        key: value
        for key, value in meta.get("annotations", {}).items()
        if not key.startswith("tidegate.dev/")
    }
    kept = {key: meta.get(key) for key in ("name", "uid", "generation", "labels", "finalizers")}
    return {"metadata": {**kept, "annotations": notes}, "spec": obj["spec"]}


async def is_taken_over(made: Kueue, running: RunningServices, count: int) -> bool:
    """Tell whether everything was adopted, and the queue shows just the quota that it had."""
    adopted = {event.workload for event in events_of(running.ledger, WorkloadAdopted)}
    status = (await made.read(QUEUE)).get("status", {})
    used = [
        parse_nano(resource["total"])
        for flavor in status.get("flavorsUsage", ())
        for resource in flavor["resources"]
    ]
    return len(adopted) == count and used == [parse_nano(f"{made.cpu_milli}m")]


async def is_held(made: Kueue) -> bool:
    items = (await made.read(made.path))["items"]
    late = [obj for obj in items if obj["metadata"]["name"].startswith("job-late-")]
    return any(
        (condition["type"], condition["status"], condition["reason"])
        == ("QuotaReserved", "False", "WaitingForQuota")
        for obj in late
        for condition in obj.get("status", {}).get("conditions", ())
    )
