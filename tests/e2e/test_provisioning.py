"""Admission checks that ask an autoscaler for nodes: a stand-in for it answers as the tests say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actuator.provisioning.templates import CONTROLLER, REQUESTS
from tests.e2e.cast import KUEUE, Object, job_of, make_queues, until
from tests.e2e.living import GROUP, Living
from tests.e2e.ordeal import alone
from tests.parts.foreign import foreign_crd
from tidegate.cluster.install import apply
from tidegate.cluster.running import run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
AT = "2026-01-01T00:00:00Z"
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"


class Autoscaler:
    """Looks at the requests of one namespace and answers by hand."""

    def __init__(self, life: Living) -> None:
        self._life = life
        kind = "autoscaling.x-k8s.io/v1"
        self._path = f"/apis/{kind}/namespaces/{life.namespace}/provisioningrequests"

    async def requests(self) -> dict[str, Object]:
        """Return the requests that there are, by name; none while the kind is not served."""
        answer = await self._life.api.request("GET", self._path)
        items: list[Object] = []
        if answer.status == 200:
            items = msgspec.json.decode(answer.body)["items"]
        return {obj["metadata"]["name"]: obj for obj in items}

    async def asked(self, end: str) -> Object:
        """Wait for the one request there is, whose name ends so; return it."""

        async def there() -> bool:
            names = list(await self.requests())
            return len(names) == 1 and names[0].endswith(end)

        await until(there, f"there is one request, and it ends in {end}")
        (fields,) = (await self.requests()).values()
        return fields

    async def answer(self, request: Object, kind: str, message: str) -> None:
        """Set a condition of a request, and the detail that its nodes are in pool-7."""
        condition = {"type": kind, "status": "True", "reason": kind, "message": message}
        status = {
            "conditions": [{**condition, "lastTransitionTime": AT}],
            "provisioningClassDetails": {"Pool": "pool-7"},
        }
        path = f"{self._path}/{request['metadata']['name']}/status"
        await self._life.change(path, status=status)


async def make_queue(api: KubernetesApi, name: str, **config: object) -> tuple[Living, Autoscaler]:
    """Create a queue of one CPU whose check, of its name, asks for nodes."""
    fields = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": name}
    await make_queues(api, {name: "1"})
    for kind, spec in (
        ("AdmissionCheck", {"controllerName": CONTROLLER, "parameters": fields}),
        ("ProvisioningRequestConfig", {"provisioningClassName": "queued", **config}),
    ):
        await apply(
            api, {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )
    life = Living(api, name)
    strategy = {"admissionChecks": [{"name": name}]}
    await life.change(f"{GROUP}/clusterqueues/{name}", spec={"admissionChecksStrategy": strategy})
    return life, Autoscaler(life)


async def submit(api: KubernetesApi, namespace: str, name: str, **annotations: str) -> None:
    """Create a queued Job of one CPU."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": namespace}
    job = {
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    answer = await api.request("POST", path, body=msgspec.json.encode(job))
    assert answer.status == 201, answer.body


async def undefine(api: KubernetesApi) -> None:
    """Let no ProvisioningRequests be served, whatever ran before."""
    definition = "apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.request("DELETE", f"/apis/{definition}/provisioningrequests.autoscaling.x-k8s.io")

    async def gone() -> bool:
        return (await api.request("GET", REQUESTS)).status == 404

    await until(gone, "the kind is not served")


async def test_a_job_starts_on_the_nodes_that_were_asked_for_it(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await undefine(api)
    selector = [{"key": "pool", "valueFromProvisioningClassDetail": "Pool"}]
    _, scaler = await make_queue(api, "nodes", podSetUpdates={"nodeSelector": selector})

    async def shut() -> bool:
        answer = await api.request("GET", f"{GROUP}/admissionchecks/nodes")
        return b"NotServed" in answer.body

    async with run_services(alone(tmp_path, own_api), print):
        await until(shut, "the check says that no requests are served")
        await apply(api, foreign_crd("provisioningrequest"))
        await submit(api, "nodes", "one", **{"provreq.kueue.x-k8s.io/days": "7"})
        request = await scaler.asked("-nodes-1")
        assert request["spec"]["parameters"] == {"days": "7"}
        assert (await job_of(api, "nodes", "one"))["spec"]["suspend"] is True
        await scaler.answer(request, "Provisioned", "here they are")

        async def started() -> bool:
            return not (await job_of(api, "nodes", "one"))["spec"]["suspend"]

        await until(started, "the Job starts")
    template = (await job_of(api, "nodes", "one"))["spec"]["template"]
    assert template["metadata"]["annotations"][CONSUMES] == request["metadata"]["name"]
    assert template["spec"]["nodeSelector"] == {"pool": "pool-7"}


async def test_what_cannot_be_provisioned_is_tried_again_and_then_rejected(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await apply(api, foreign_crd("provisioningrequest"))
    strategy = {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1}
    life, scaler = await make_queue(api, "scarce", retryStrategy=strategy)
    async with run_services(alone(tmp_path, own_api), print):
        await life.make("one")
        await scaler.answer(await scaler.asked("one-scarce-1"), "Failed", "no room")
        await scaler.answer(await scaler.asked("one-scarce-2"), "Failed", "no room at all")
        await life.until("one", lambda obj: obj["spec"]["active"] is False, "is deactivated")
        await life.shows("one", "Evicted=True DeactivatedDueToAdmissionCheck")
        evictions = (await life.read("one"))["status"]["schedulingStats"]["evictions"]
        assert [eviction["reason"] for eviction in evictions] == ["AdmissionCheck", "Deactivated"]

        async def cleared() -> bool:
            return await scaler.requests() == {}

        await until(cleared, "its requests are gone")

        async def has_events() -> bool:
            events = await api.request("GET", "/api/v1/namespaces/scarce/events")
            reasons = {event["reason"] for event in msgspec.json.decode(events.body)["items"]}
            return {"ProvisioningRequestCreated", "AdmissionCheckRejected"} <= reasons

        await until(has_events, "Events tell of it")
