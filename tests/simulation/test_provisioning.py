"""Jobs that wait for nodes, services that die, and an autoscaler that is not reliable."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import msgspec
import pytest

from actuator.provisioning.templates import CONSUMES, CONTROLLER
from tests.parts.foreign import foreign_crd
from tests.parts.virtual import run_virtually
from tests.simulation.actors.people import finished
from tests.simulation.cluster import CRDS, KUEUE, NOMINAL_MILLI, job, named
from tests.simulation.judging.waiting import check_no_workload_is_stuck
from tests.simulation.shore import Shore

Object = dict[str, Any]
TEAM, CHECK, JOBS, DEATH = "team-b", "nodes", 6, 0.004
REQUESTS = f"/apis/autoscaling.x-k8s.io/v1/namespaces/{TEAM}/provisioningrequests"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ENDS = ("Failed", "BookingExpired", "CapacityRevoked")
AT = "2026-01-01T00:00:00Z"
SEEDS = [*range(2), *(pytest.param(number, marks=pytest.mark.slow) for number in range(2, 10))]


class Site(Shore):
    """A queue whose check asks for nodes; a cloud gives them, late, not at all, or for a while."""

    provisions = True

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=DEATH)
        self.provided, self.answered = set[str](), set[str]()
        config = (CRDS / "provisioningrequestconfigs.kueue.x-k8s.io.yaml").read_bytes()
        for crd in (foreign_crd("provisioningrequest"), msgspec.yaml.decode(config)):
            self.do("POST", DEFINITIONS, crd)
        fields = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": CHECK}
        spec = {"controllerName": CONTROLLER, "parameters": fields}
        self.do("POST", f"{KUEUE}/admissionchecks", named("AdmissionCheck", CHECK, spec=spec))
        again = {"backoffLimitCount": 1, "backoffBaseSeconds": 2, "backoffMaxSeconds": 8}
        spec = {"provisioningClassName": "queued", "retryStrategy": again}
        made = named("ProvisioningRequestConfig", CHECK, spec=spec)
        self.do("POST", f"{KUEUE}/provisioningrequestconfigs", made)
        strategy = {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}}
        self.do("PATCH", f"{KUEUE}/clusterqueues/{TEAM}", strategy)

    def do(self, method: str, path: str, body: Object) -> None:
        answer = self.cluster.act("admin", method, path, body)
        assert answer.status < 300, answer.body

    def requests(self) -> list[Object]:
        return list(self.items("provisioningrequests.autoscaling.x-k8s.io"))

    def items(self, resource: str) -> list[Object]:
        return list(self.cluster.api.registry.state.items(resource))

    def answer(self, obj: Object, kind: str) -> None:
        """Set a condition of a request."""
        meta, value = obj["metadata"], obj.get("status", {}).get("conditions", [])
        condition = {"type": kind, "status": "True", "reason": "R", "message": kind}
        status = {"conditions": [*value, {**condition, "lastTransitionTime": AT}]}
        self.answered.add(kind)
        if kind == "Provisioned":
            self.provided.add(meta["name"])
        self.do("PATCH", f"{REQUESTS}/{meta['name']}/status", {"status": status})

    def scale(self, *, kindly: bool) -> None:
        """Answer some of the requests, or none."""
        for request in self.requests():
            current_types = {
                condition["type"] for condition in request.get("status", {}).get("conditions", ())
            }
            chosen = 0.5 if kindly else self.random.random()
            if current_types & set(ENDS):
                continue
            if "Provisioned" in current_types:
                if chosen < 0.2:
                    self.answer(request, ENDS[1 + (chosen < 0.1)])
            elif 0.3 < chosen < 0.7:
                self.answer(request, "Provisioned")
            elif chosen >= 0.7:
                self.answer(
                    request, "Failed" if chosen > 0.8 or "Accepted" in current_types else "Accepted"
                )

    async def people(self) -> None:
        for number in range(JOBS):
            seconds = self.random.uniform(1, 15)
            made = job(f"job-{number}", pods=2, cpu_milli=800, seconds=seconds, priority="low")
            self.cluster.submit(TEAM, made)
            for _ in range(self.random.randrange(1, 6)):
                await asyncio.sleep(self.random.uniform(0.5, 4))
                self.scale(kindly=False)

    async def watch(self) -> None:
        """Demand that nothing runs but on nodes that were given, and within its quota."""
        while True:
            running = [obj for obj in self.cluster.jobs() if obj.get("status", {}).get("active")]
            for obj in running:
                template = obj["spec"]["template"]["metadata"]["annotations"]
                if not obj["spec"]["suspend"]:
                    assert template[CONSUMES] in self.provided, obj["metadata"]["name"]
            pods = sum(document["status"]["active"] for document in running)
            assert pods * 800 <= NOMINAL_MILLI[TEAM] + NOMINAL_MILLI["team-a"]
            await asyncio.sleep(0.2)

    def unrest(self) -> str:
        for obj in self.cluster.jobs():
            if not finished(obj):
                return f"{obj['metadata']['name']} is not finished"
        for obj in self.requests():
            return f"{obj['metadata']['name']} is still there"
        holding = self.ledger.watch.holding
        return f"{next(iter(holding))} holds quota" if holding else ""

    def mend(self) -> None:
        """Give what is asked for, and let those try again that were turned away."""
        self.scale(kindly=True)
        for obj in self.items("workloads.kueue.x-k8s.io"):
            if not obj["spec"].get("active", True):
                name = obj["metadata"]["name"]
                path = f"{KUEUE}/namespaces/{TEAM}/workloads/{name}"
                self.do("PATCH", path, {"spec": {"active": True}})


@cache
def lived(seed: int) -> Site:
    """Return a world that came to rest; tests share it."""
    made = list[Site]()

    async def run() -> None:
        made.append(Site(seed))
        await made[0].run()

    run_virtually(run())
    return made[0]


@pytest.mark.slow
def test_the_autoscaler_answers_in_every_way_and_services_die() -> None:
    sites = [lived(seed) for seed in range(6)]
    answered = {kind for site in sites for kind in site.answered}
    assert answered == {"Accepted", "Provisioned", *ENDS}
    assert sum(site.deaths for site in sites) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_run_on_the_nodes_given_to_them_whichever_service_dies(seed: int) -> None:
    site = lived(seed)
    assert site.provided
    assert check_no_workload_is_stuck(site.ledger.entries)
