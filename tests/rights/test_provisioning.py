"""What it takes to ask an autoscaler for nodes is one role, and nothing in it is too much."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.provisioning.provisioner import Provisioner
from actuator.provisioning.templates import CONTROLLER
from tests.parts.foreign import foreign_crd
from tests.parts.stage import KUEUE, alongside, kueue
from tests.provisioning.standing import podset
from tests.rights.asked import Recorded, role
from tests.rights.story import account
from tidegate.cluster.install import apply
from tidegate.kube.client import KubernetesClient
from tidegate.kube.ports import MERGE_PATCH

pytestmark = pytest.mark.real
Object = dict[str, Any]
AT = "2026-03-01T08:00:00Z"


class Wanting:
    """A Workload in a namespace of its own that waits for a check of the namespace's name."""

    def __init__(self, admin: KubernetesClient, namespace: str) -> None:
        self.admin, self.name = admin, namespace
        self.workload = f"{KUEUE}/namespaces/{namespace}/workloads/w"
        self.template = f"/api/v1/namespaces/{namespace}/podtemplates/ppt-w-{namespace}-1-main"
        requests = f"/apis/autoscaling.x-k8s.io/v1/namespaces/{namespace}/provisioningrequests"
        self.request = f"{requests}/w-{namespace}-1"

    async def make(self) -> None:
        """Create all there is to be, and in a template's place one that was left over."""
        await apply(self.admin, foreign_crd("provisioningrequest"))
        fields = {
            "apiGroup": "kueue.x-k8s.io",
            "kind": "ProvisioningRequestConfig",
            "name": self.name,
        }
        check = {"controllerName": CONTROLLER, "parameters": fields}
        await apply(self.admin, kueue("ResourceFlavor", self.name))
        await apply(self.admin, kueue("AdmissionCheck", self.name, **check))
        config = kueue("ProvisioningRequestConfig", self.name, provisioningClassName="queued")
        await apply(self.admin, config)
        sets = [podset("main", 2, {"cpu": "1"})]
        labels = {"kueue.x-k8s.io/managed": "true"}
        meta = {"name": self.template.rpartition("/")[2], "labels": labels}
        left = {"metadata": meta, "template": sets[0]["template"]}
        await self.send("POST", self.template.rpartition("/")[0], left)
        made = kueue("Workload", "w", queueName="main", podSets=sets)
        await self.send("POST", self.workload.rpartition("/")[0], made)

    async def stand(self, **conditions: str) -> None:
        """Show on the Workload that it holds quota, or not any more."""
        head = {"reason": "R", "message": "", "lastTransitionTime": AT}
        documents = [{**head, "type": kind, "status": value} for kind, value in conditions.items()]
        assigned = {"name": "main", "count": 2, "flavors": {"cpu": self.name}}
        status = {
            "conditions": documents,
            "admission": {"clusterQueue": "cq", "podSetAssignments": [assigned]},
            "admissionChecks": [
                {"name": self.name, "state": "Pending", "message": "", "lastTransitionTime": AT}
            ],
        }
        await self.send("PATCH", f"{self.workload}/status", {"status": status})

    async def provision(self) -> None:
        """Say that the nodes are there."""
        condition = {"type": "Provisioned", "status": "True", "reason": "R", "message": "here"}
        status = {"status": {"conditions": [{**condition, "lastTransitionTime": AT}]}}
        await self.send("PATCH", f"{self.request}/status", status)

    async def until(self, path: str, holds: Callable[[Object | None], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds(await self.read(path)):
                await asyncio.sleep(0.1)

    async def read(self, path: str) -> Object | None:
        answer = await self.admin.request("GET", path)
        return None if answer.status == 404 else msgspec.json.decode(answer.body)

    async def send(self, method: str, path: str, body: Object) -> None:
        content = MERGE_PATCH if method == "PATCH" else "application/json"
        data = msgspec.json.encode(body)
        answer = await self.admin.request(method, path, body=data, content_type=content)
        assert answer.status < 300, answer.body


async def play(wanting: Wanting) -> None:
    """Let a reservation be asked for, answered and lost."""
    await wanting.stand(QuotaReserved="True")
    await wanting.until(wanting.template, _is_a_requests)
    await wanting.provision()
    await wanting.until(wanting.workload, lambda obj: '"Ready"' in _text(obj))
    await wanting.stand(QuotaReserved="False", Evicted="True")
    await wanting.until(wanting.request, lambda obj: obj is None)


def _text(obj: Object | None) -> str:
    return msgspec.json.encode(obj).decode()


def _is_a_requests(obj: Object | None) -> bool:
    owners = obj["metadata"].get("ownerReferences", ()) if obj is not None else ()
    return [owner["kind"] for owner in owners] == ["ProvisioningRequest"]


def provisioner(api: Recorded) -> Provisioner:
    calls = Calls(api, Metrics(CollectorRegistry()))
    made = Provisioner(calls, Random(1), lambda: time.time_ns() // 1_000)
    made.set_active(True)
    return made


async def test_asking_for_nodes_takes_just_the_rights_of_its_role(
    real_api: str, admin: KubernetesClient, namespace: str
) -> None:
    wanting = Wanting(admin, namespace)
    await wanting.make()
    async with (
        account(real_api, "tidegate-actuator") as recorded,
        alongside(provisioner(recorded).run()),
    ):
        await play(wanting)
    for plural in ("admissionchecks", "provisioningrequestconfigs", "resourceflavors"):
        await admin.request("DELETE", f"{KUEUE}/{plural}/{namespace}")
    assert recorded.refused == set()
    assert recorded.invalid == []
    besides = role("tidegate-actuator-provisioning")
    assert recorded.asked >= besides
    assert recorded.asked <= besides | role("tidegate-actuator")
