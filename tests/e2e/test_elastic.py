"""Jobs that grow and shrink while they run, on a real API server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import yaml

from tests.e2e.breaking import delete_stream, kill, pause
from tests.e2e.cast import (
    KUEUE,
    Object,
    events_of,
    eventually,
    job_of,
    make_queues,
    post,
    tidegate,
    until,
)
from tests.e2e.living import GROUP, Living, conditions, configured
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunningServices, run_services
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
RESOURCES = [{"name": "cpu", "nominalQuota": "1"}, {"name": "memory", "nominalQuota": "2Gi"}]
ELASTIC = "kueue.x-k8s.io/elastic-job"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
OPEN = ""  # the gate is open by default, as with Kueue
SAMPLE = """
apiVersion: batch/v1
kind: Job
metadata:
  name: sample-elastic-job
  annotations:
    kueue.x-k8s.io/elastic-job: "true"
  labels:
    kueue.x-k8s.io/queue-name: user-queue
spec:
  parallelism: 3
  completions: 100
  template:
    spec:
      containers:
      - name: dummy-job
        image: example.com/sleep
        command: ["/bin/sh"]
        args: ["-c", "sleep 60"]
        resources:
          requests:
            cpu: "100m"
            memory: "100Mi"
      restartPolicy: Never
"""
"""The fields of Kueue's sample-scalable-job.yaml, in a namespace of the test's."""


def jobs(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


async def submit(api: KubernetesApi, namespace: str, pods: int) -> None:
    """Create an elastic Job of many pods, so many at once."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": "900"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": namespace}
    meta = {"name": "train", "labels": labels, "annotations": {ELASTIC: "true"}}
    spec = {"parallelism": pods, "completions": 100, "suspend": True, "template": template}
    answer = await post(api, jobs(namespace), {"metadata": meta, "spec": spec})
    assert answer.status == 201, answer.body


async def listed(api: KubernetesApi, path: str) -> list[Object]:
    documents: list[Object] = msgspec.json.decode((await api.request("GET", path)).body)["items"]
    return documents


async def has_pods(api: KubernetesApi, namespace: str, let_go: int, gated: int) -> None:
    """Wait until so many pods were let go, and so many wait behind the gate."""

    async def holds() -> bool:
        documents = await listed(api, f"/api/v1/namespaces/{namespace}/pods")
        stay = [obj["spec"] for obj in documents if "deletionTimestamp" not in obj["metadata"]]
        waits = [
            any(g["name"] == ELASTIC for g in spec.get("schedulingGates", ())) for spec in stay
        ]
        return (waits.count(False), waits.count(True)) == (let_go, gated)

    await until(holds, f"{let_go} pods were let go, {gated} wait")


async def slices(api: KubernetesApi, namespace: str) -> dict[str, list[str]]:
    """Return the conditions of the Job's Workloads by what each replaces."""
    documents = await listed(api, f"{GROUP}/namespaces/{namespace}/workloads")
    ours = [obj for obj in documents if obj["metadata"].get("ownerReferences")]
    return {obj["metadata"]["annotations"].get(REPLACES, ""): conditions(obj) for obj in ours}


async def until_waits(api: KubernetesApi, namespace: str, condition: str) -> None:
    async def waits() -> bool:
        mapping = await slices(api, namespace)
        return any(condition in names for replaced, names in mapping.items() if replaced)

    await until(waits, f"a slice says {condition}")


@asynccontextmanager
async def elastic(
    api: KubernetesApi, own_api: str, folder: Path, queue: dict[str, str]
) -> AsyncGenerator[tuple[Living, RunningServices]]:
    """Run the services for one namespace with this queue; at the end the ledger has to hold."""
    (space,) = queue
    await make_queues(api, queue)
    async with run_services(configured(folder, own_api, OPEN), print) as running:
        yield Living(api, space), running
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)


async def test_an_elastic_job_grows_by_a_slice_and_shrinks_in_place(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "growing"
    async with elastic(api, own_api, tmp_path, {space: "4"}) as (life, _):
        await life.make("other")
        await life.shows("other", "Admitted=True Admitted")
        await submit(api, space, 2)
        await has_pods(api, space, 2, 0)
        await life.change(f"{jobs(space)}/train", spec={"parallelism": 4})
        await has_pods(api, space, 2, 2)
        await until_waits(api, space, "QuotaReserved=False WaitingForQuota")
        await life.finish("other")
        await has_pods(api, space, 4, 0)

        async def replaced() -> bool:
            mapping = await slices(api, space)
            ended = "Finished=True WorkloadSliceReplaced" in mapping.pop("", [])
            return ended and all("Admitted=True Admitted" in row for row in mapping.values())

        await until(replaced, "one slice took over from the other")
        await life.change(f"{jobs(space)}/train", spec={"parallelism": 1})
        await life.make("fits", cpu="3")
        await life.shows("fits", "Admitted=True Admitted")
        await has_pods(api, space, 1, 0)


async def test_an_elastic_job_that_has_to_leave_comes_back_as_large_as_it_wants(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "leaving"
    async with elastic(api, own_api, tmp_path, {space: "2"}) as (life, _):
        await submit(api, space, 1)
        await has_pods(api, space, 1, 0)
        await life.change(f"{jobs(space)}/train", spec={"parallelism": 3})
        await has_pods(api, space, 1, 2)
        await life.stop_queue("clusterqueues", "HoldAndDrain")
        await has_pods(api, space, 0, 0)

        async def restored() -> bool:
            template = (await job_of(api, space, "train"))["spec"]["template"]["spec"]
            return "schedulingGates" not in template and len(await slices(api, space)) == 1

        await until(restored, "the template is as its owner wrote it, and one Workload is left")
        quota = {"name": "cpu", "nominalQuota": "3"}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
        await life.change(f"{GROUP}/clusterqueues/{space}", spec={"resourceGroups": [group]})
        await life.stop_queue("clusterqueues", "None")
        await has_pods(api, space, 3, 0)


@pytest.mark.slow
async def test_a_job_grows_though_events_were_lost_before_its_growth_was_read(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "grows-unheard"
    async with elastic(api, own_api, tmp_path, {space: "4"}) as (life, running):
        await submit(api, space, 2)
        await has_pods(api, space, 2, 0)
        pause(running, "actuator")
        await life.change(f"{jobs(space)}/train", spec={"parallelism": 4})

        def admitted() -> int:
            ours = events_of(running.ledger, WorkloadAdmitted)
            return len([decision for decision in ours if decision.cluster_queue == space])

        await eventually(lambda: admitted() == 2, "the larger slice is admitted")
        await delete_stream(running.nats_url, "tidegate_local_events")
        await kill(running, "actuator")
        await has_pods(api, space, 4, 0)


async def test_kueues_own_sample_runs_and_scales_unchanged(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    space = "sample"
    async with elastic(api, own_api, tmp_path, {space: "1"}) as (life, _):
        group: Object = {"flavors": [{"name": "any", "resources": RESOURCES}]}
        group |= {"coveredResources": ["cpu", "memory"]}
        await life.change(f"{GROUP}/clusterqueues/{space}", spec={"resourceGroups": [group]})
        await apply(api, user_queue(space))
        made = yaml.safe_load(SAMPLE)
        assert (await post(api, jobs(space), made)).status == 201
        await has_pods(api, space, 3, 0)
        path = f"{jobs(space)}/sample-elastic-job"
        await life.change(path, spec={"parallelism": 5})
        await has_pods(api, space, 5, 0)
        await life.change(path, spec={"parallelism": 1})
        await has_pods(api, space, 1, 0)
        mapping = await slices(api, space)
        assert "Finished=True WorkloadSliceReplaced" in mapping[""]


def user_queue(space: str) -> Object:
    """Return a queue as Kueue's samples name it."""
    metadata = {"name": "user-queue", "namespace": space}
    spec = {"clusterQueue": space}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}
