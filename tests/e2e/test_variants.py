"""A Job that is tried on several flavors at once, on a real API server."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import KUEUE, Object, job_of, submit, tidegate, until
from tests.e2e.living import GROUP, Living, conditions, configured
from tidegate.cluster.install import apply
from tidegate.cluster.running import run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
SPACE = "side-by-side"
GATES = "featureGates: {ConcurrentAdmission: true}\n"
ALLOWED = "kueue.x-k8s.io/workload-allowed-resource-flavors"
PARENT = "kueue.x-k8s.io/concurrent-admission-parent"


async def make_queue(api: KubernetesApi) -> None:
    """Create a queue of one CPU of each of two flavors, in which Jobs are tried on both."""
    quota = [{"name": "cpu", "nominalQuota": "1"}]
    flavors = [{"name": flavor, "resources": quota} for flavor in ("fast", "slow")]
    spec: Object = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}},
    }
    local: Object = {"name": SPACE, "namespace": SPACE}
    for flavor in ("fast", "slow"):
        meta = {"name": flavor}
        labels = {"nodeLabels": {"speed": flavor}}
        await apply(
            api, {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta, "spec": labels}
        )
    queue = {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": SPACE}}
    line = {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local}
    for made in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {**queue, "spec": spec},
        {**line, "spec": {"clusterQueue": SPACE}},
    ):
        await apply(api, made)


class Family:
    """The Workloads of one Job."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api

    async def members(self) -> dict[str, Object]:
        """Return the Workloads of Jobs by their flavors; the parent has none."""
        response = await self.api.request("GET", f"{GROUP}/namespaces/{SPACE}/workloads")
        ours = [
            workload
            for workload in msgspec.json.decode(response.body)["items"]
            if _is_owned(workload)
        ]
        return {obj["metadata"].get("annotations", {}).get(ALLOWED, ""): obj for obj in ours}

    async def shows(self, flavor: str, condition: str) -> None:
        """Wait until one of them shows a condition."""

        async def does() -> bool:
            fields = (await self.members()).get(flavor)
            return fields is not None and condition in conditions(fields)

        await until(does, f"{flavor or 'the parent'} shows {condition}")

    async def runs_on(self, flavor: str) -> None:
        """Wait until the Job runs there."""

        async def does() -> bool:
            job = await job_of(self.api, SPACE, "train")
            pods = job["spec"]["template"]["spec"].get("nodeSelector", {})
            active = job.get("status", {}).get("active")
            return not job["spec"]["suspend"] and bool(active) and pods == {"speed": flavor}

        await until(does, f"the Job runs on {flavor}")

    async def emits(self, *reasons: str) -> None:
        """Wait until Events tell all of this."""

        async def are() -> bool:
            response = await self.api.request("GET", f"/api/v1/namespaces/{SPACE}/events")
            items = msgspec.json.decode(response.body)["items"]
            return set(reasons) <= {event["reason"] for event in items}

        await until(are, f"Events tell {reasons}")


def _is_owned(obj: Object) -> bool:
    return bool(obj["metadata"].get("ownerReferences"))


async def test_a_job_starts_where_there_is_room_and_moves_to_the_flavor_that_is_preferred(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queue(api)
    life, family = Living(api, SPACE), Family(api)
    async with run_services(configured(tmp_path, own_api, GATES), print) as running:
        await life.make("occupies", about={"annotations": {ALLOWED: "fast"}})
        await life.shows("occupies", "Admitted=True Admitted")
        await submit(api, SPACE, "train", cpu="1", seconds=900)
        await family.runs_on("slow")
        await family.shows("", "Admitted=True Admitted")
        await family.shows("fast", "QuotaReserved=False WaitingForQuota")
        members = await family.members()
        assert members[""]["metadata"]["labels"][PARENT] == "true"
        assert (
            members["fast"]["metadata"]["ownerReferences"][0]["name"]
            == (members[""]["metadata"]["name"])
        )
        await life.finish("occupies")
        await family.shows("slow", "Evicted=True FlavorMigration")
        await family.shows("", "Evicted=False QuotaReserved")
        await family.runs_on("fast")
        await family.shows("slow", "QuotaReserved=False Deactivated")
        assert (await family.members())["slow"]["spec"]["active"] is False
        await family.emits("CreatedVariant", "DeactivatedVariant", "EvictedDueToFlavorMigration")
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
        await _delete(api)
        await until(lambda: _none(family), "with the Job its Workloads are gone")


async def _delete(api: KubernetesApi) -> None:
    """Delete the Job as kubectl does: a bare request would leave its Workloads behind."""
    path = f"/apis/batch/v1/namespaces/{SPACE}/jobs/train"
    await api.request("DELETE", path, body=b'{"propagationPolicy":"Background"}')


async def _none(family: Family) -> bool:
    return not await family.members()
