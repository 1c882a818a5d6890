"""Kueue's own configuration file as it is: an object of every kind in it waits for quota."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import define, until
from tests.e2e.kinds import ACTS
from tests.e2e.test_job_kinds import get, kueue
from tests.e2e.test_pods import is_gated, pod
from tests.e2e.test_serving import leader_worker_set, of_apps
from tests.parts.foreign import foreign_crd
from tidegate.cli.commands.manifests import manifests_of_configuration
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kube.ports import KubernetesApi
from tidegate.service.config.configuration import read_configuration

pytestmark = [pytest.mark.real, pytest.mark.slow]
Object = dict[str, Any]
FILE = Path(__file__).parent / "kueue_default.yaml"
NAME = "default-file"
ENABLED = read_configuration(str(FILE)).frameworks
KINDS = [act for act in ACTS if act.framework in ENABLED and act.declared is None]
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAME}/workloads"
SERVED = {
    "/apis/apps/v1/namespaces/{}/deployments": of_apps("Deployment", "web", NAME, 1),
    "/apis/apps/v1/namespaces/{}/statefulsets": of_apps("StatefulSet", "db", NAME, 1),
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets": leader_worker_set(
        "llm", NAME, 1
    ),
    "/api/v1/namespaces/{}/pods": pod("alone", NAME, 60),
}


def test_each_kind_of_the_file_is_tried() -> None:
    tried = {act.framework for act in KINDS} | {"batch/job", "pod", "deployment", "statefulset"}
    assert set(ENABLED) == tried | {"leaderworkerset.x-k8s.io/leaderworkerset"}


async def prepare(api: KubernetesApi) -> None:
    """Define every kind of the file, its policies and rights, and a queue without quota."""
    crds = {act.crd["metadata"]["name"]: act.crd for act in KINDS if act.crd is not None}
    for crd in (*crds.values(), foreign_crd("leaderworkerset")):
        await define(api, crd)
    await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    for manifest in (manifest for act in KINDS for manifest in act.also):
        await define(api, manifest)
    for manifest in manifests_of_configuration(read_configuration(str(FILE))):
        await apply(api, manifest)
    quota = [{"name": "cpu", "nominalQuota": "0"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": quota}]}
    queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    for manifest in (
        kueue("ResourceFlavor", NAME),
        kueue("ClusterQueue", NAME, spec=queue),
        kueue("LocalQueue", NAME, NAME, spec={"clusterQueue": NAME}),
    ):
        await apply(api, manifest)


async def create(api: KubernetesApi, path: str, obj: Object) -> None:
    async def is_made() -> bool:
        answer = await api.request("POST", path.format(NAME), body=msgspec.json.encode(obj))
        assert answer.status in (201, 404, 409, 503), answer.body
        return answer.status in (201, 409)

    await until(is_made, f"{obj['kind']} is made")


async def test_an_object_of_each_kind_waits_where_there_is_no_quota(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await prepare(api)
    made = {act.path: act.make(f"a-{act.name}", NAME, 60) for act in KINDS} | SERVED
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(FILE))

    async def all_wait() -> bool:
        shown = (await get(api, WORKLOADS))["items"]
        there = {
            reference["kind"]
            for workload in shown
            for reference in workload["metadata"]["ownerReferences"]
        }
        kinds = {manifest["kind"] for manifest in made.values()} - {"Deployment"}
        return there >= kinds and not any(workload["status"].get("admission") for workload in shown)

    async with run_services(wanted, print):
        for path, fields in made.items():
            await create(api, path, fields)
        await until(all_wait, "each has a Workload, and none is admitted")
        pods = (await get(api, f"/api/v1/namespaces/{NAME}/pods"))["items"]
        assert {obj["metadata"]["name"].partition("-")[0] for obj in pods} >= {"web", "db", "alone"}
        assert all(is_gated(candidate_pod) for candidate_pod in pods)
