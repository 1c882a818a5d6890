"""In a fenced namespace no job runs that names no queue; one that names it later is started."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import job_of, make_queues, submit, until
from tests.kinds.cluster import Cluster, eventually
from tests.kinds.manifests import job, pod
from tests.kinds.test_fence import FENCED, deployment, is_gated, is_suspended, policies
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kinds.names import ADMISSION_GATE, QUEUE_NAME
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]  # in CI tests/kinds/test_fence.py
Object = dict[str, Any]
NAME = "fenced"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"


async def unqueued_pods(api: KubernetesApi) -> list[Object]:
    """Return the pods that no queue admitted."""
    answer = await api.request("GET", f"/api/v1/namespaces/{NAME}/pods")
    documents: list[Object] = msgspec.json.decode(answer.body)["items"]
    return [obj for obj in documents if "job-name" not in obj["metadata"].get("labels", {})]


def is_held(obj: Object) -> bool:
    gates = {gate["name"] for gate in obj["spec"].get("schedulingGates", ())}
    return ADMISSION_GATE in gates and "nodeName" not in obj["spec"]


async def starts(api: KubernetesApi, name: str) -> bool:
    return not (await job_of(api, NAME, name))["spec"].get("suspend")


async def ends(api: KubernetesApi, name: str) -> bool:
    return bool((await job_of(api, NAME, name)).get("status", {}).get("succeeded"))


async def fence(api: KubernetesApi, folder: Path) -> None:
    """Put the policies in force, of this namespace alone."""
    cluster = Cluster(api)
    for policy in policies(folder, NAME, "tidegate-suspend-batch-job", "tidegate-gate-pods"):
        await apply(api, policy)
    await eventually(partial(is_gated, cluster, pod(NAME)))
    await eventually(partial(is_suspended, cluster, job(NAME)))


async def test_what_names_no_queue_waits_beside_what_is_queued_and_starts_once_it_does(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAME: "1"})
    await fence(api, tmp_path)
    config = tmp_path / "fenced.yaml"
    config.write_text(FENCED.format(namespace=NAME, disabled="Warn"))
    web = deployment(NAME)
    del web["metadata"]["labels"]
    for manifest in (pod(NAME), web, job(NAME, "bare")):
        await apply(api, manifest)
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))

    async def all_are_there() -> bool:
        return len(await unqueued_pods(api)) == 2  # the plain one and the Deployment's

    async with run_services(wanted, print):
        await until(all_are_there, "the Deployment has its pod")
        await submit(api, NAME, "queued", cpu="1", seconds=1)
        await until(partial(ends, api, "queued"), "a Job with a queue has all of it, and runs")
        assert not await starts(api, "bare")
        assert all(map(is_held, await unqueued_pods(api)))
        body = msgspec.json.encode({"metadata": {"labels": {QUEUE_NAME: NAME}}})
        answer = await api.request("PATCH", f"{JOBS}/bare", body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body
        await until(partial(starts, api, "bare"), "a Job with a later queue starts")
        assert all(map(is_held, await unqueued_pods(api)))
