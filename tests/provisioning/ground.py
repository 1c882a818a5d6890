"""An API server on a virtual loop, a Workload that waits for nodes, and an autoscaler's hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.provisioning.provisioner import Provisioner
from actuator.provisioning.templates import CONTROLLER
from apiserver.controllers.controller_manager import ControllerManager
from tests.parts.foreign import foreign_crd
from tests.parts.stage import CRDS, KUEUE, Object, Stage, alongside, eventually, kueue
from tests.provisioning.standing import podset

REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
AT = "2026-03-01T08:00:00Z"
CHECK = {"name": "c", "state": "Pending", "message": "", "lastTransitionTime": AT}
PARAMETERS = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "nodes"}


class Ground(Stage):
    """A check with its configuration, a flavor, and a Workload of two pods."""

    def __init__(self, *, served: bool = True, configured: bool = True) -> None:
        super().__init__()
        self.controller_manager = ControllerManager(self.embedded)
        if served:
            self.serve()
        flavor = kueue("ResourceFlavor", "spot", nodeLabels={"pool": "spot"})
        self.make(f"{KUEUE}/resourceflavors", flavor)
        check = kueue("AdmissionCheck", "c", controllerName=CONTROLLER, parameters=PARAMETERS)
        self.make(f"{KUEUE}/admissionchecks", check)
        if configured:
            self.configure()
        sets = [podset("main", 2, {"cpu": "1"})]
        self.make(WORKLOADS, kueue("Workload", "w", queueName="main", podSets=sets))

    def serve(self) -> None:
        """Define the kind ProvisioningRequest."""
        self.make(CRDS, foreign_crd("provisioningrequest"))

    def configure(self) -> None:
        config = kueue("ProvisioningRequestConfig", "nodes", provisioningClassName="queued")
        self.make(f"{KUEUE}/provisioningrequestconfigs", config)

    def reserve(self, **state: object) -> None:
        """Let the Workload hold quota, its check pending."""
        assigned = {"name": "main", "count": 2, "flavors": {"cpu": "spot"}}
        admission = {"clusterQueue": "cq", "podSetAssignments": [assigned]}
        conditions = [condition("QuotaReserved"), condition("Evicted", "False")]
        checks = [{**CHECK, **state}]
        self._show(admission=admission, conditions=conditions, admissionChecks=checks)

    def evict(self) -> None:
        """Let the Workload lose its quota; a check in Retry counts that."""
        before = self.state()
        count = before.get("retryCount", 0) + (before["state"] == "Retry")
        conditions = [condition("QuotaReserved", "False"), condition("Evicted")]
        checks = [{**CHECK, **({"retryCount": count} if count else {})}]
        self._show(admission=None, conditions=conditions, admissionChecks=checks)

    def answer(self, name: str, *kinds: str) -> None:
        """Say of a request what the autoscaler does."""
        status = {"conditions": [condition(kind) for kind in kinds]}
        self.change(f"{REQUESTS}/{name}/status", {"status": status})

    def state(self) -> Object:
        """Return the state of the Workload's check."""
        fields: Object = self.read(f"{WORKLOADS}/w")["status"]["admissionChecks"][0]
        return fields

    def active(self) -> tuple[str, str]:
        """Return status and reason of the check's condition; empty if there is none."""
        status = self.read(f"{KUEUE}/admissionchecks/c").get("status", {})
        return next(
            (
                (candidate_condition["status"], candidate_condition["reason"])
                for candidate_condition in status.get("conditions", ())
            ),
            ("", ""),
        )

    def requests(self) -> list[str]:
        """Return the names of the requests that there are."""
        return [obj["metadata"]["name"] for obj in self.read(REQUESTS)["items"]]

    def event_reasons(self) -> list[str]:
        """Return the reasons of the Events about the Workload, sorted."""
        events = self.read("/api/v1/namespaces/default/events")["items"]
        return sorted(event["reason"] for event in events)

    def provisioner(self) -> Provisioner:
        loop = asyncio.get_running_loop()
        calls = Calls(self.api, Metrics(CollectorRegistry()))
        return Provisioner(calls, Random(1), lambda: int(loop.time() * 1_000_000))

    def _show(self, **status: object) -> None:
        self.change(f"{WORKLOADS}/w/status", {"status": status})


def condition(kind: str, status: str = "True") -> Object:
    condition = {"type": kind, "status": status, "reason": "R", "message": f"{kind} it is"}
    return {**condition, "lastTransitionTime": AT}


@asynccontextmanager
async def attended(ground: Ground) -> AsyncGenerator[Provisioner, None]:
    """Run the controller, and the collector of what lost its owner, beside the block."""
    provisioner = ground.provisioner()
    provisioner.set_active(True)
    async with alongside(provisioner.run()), alongside(ground.controller_manager.run()):
        yield provisioner


@asynccontextmanager
async def asked() -> AsyncGenerator[Ground, None]:
    """Tell a story up to the first request."""
    ground = Ground()
    async with attended(ground):
        ground.reserve()
        await eventually(lambda: ground.requests() == ["w-c-1"])
        yield ground
