"""The rights that an enabled kind brings suffice for it, and are no more than it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.ordering.apply import Applier
from actuator.ordering.orders import Expire, JobOrder
from actuator.ordering.reports import Reporter
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import PodUngater
from tests.bus.memory.all_ports import MemoryBus
from tests.e2e.cast import until
from tests.parts.foreign import (
    JOBSETS,
    VOYAGES,
    declarations,
    foreign_crd,
    jobset,
    pods_template,
    voyage,
)
from tests.parts.stage import alongside, eventually
from tests.rights.asked import Recorded, Right, rights, role
from tests.rights.story import AT_US, account, heartbeat, ingest
from tidegate.cluster.install import apply
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered, WorkloadExpired
from tidegate.jobs.kind import Start, Stop
from tidegate.jobs.pods.pod_roles import role as role_of
from tidegate.jobs.registry import JOB_KINDS, register_declared
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.kinds.rights import kind_roles
from tidegate.kube.client import KubernetesClient
from tidegate.kube.identity import cluster_uid
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

pytestmark = pytest.mark.real
Object = dict[str, Any]
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
DECLARED = declarations()["voyage"]
IMPLIED = {
    Right("jobset.x-k8s.io", "jobsets/finalizers", "update"),
    Right("ships.example.com", "voyages/finalizers", "update"),
    Right("", "pods/finalizers", "update"),
}
"""By owner references that block a deletion: no request of its own asks for them."""


@pytest.fixture
async def enabled(admin: KubernetesClient) -> AsyncIterator[dict[str, set[Right]]]:
    """Define the kinds and give both services the rights over them; lend those by account."""
    for name in ("jobset", "voyage"):
        await apply(admin, foreign_crd(name))
    register_declared((DECLARED,))
    roles = kind_roles(FRAMEWORKS, (DECLARED,))
    for obj in roles:
        await apply(admin, obj)
    ours = [obj for obj in roles if obj["metadata"]["name"].endswith("-kinds")]  # not people's
    given = [cluster_role for cluster_role in ours if cluster_role["kind"] == "ClusterRole"]
    for obj in given:
        await until(partial(is_allowed, admin, obj), f"{obj['metadata']['name']} is in force")
    yield {obj["metadata"]["name"]: rights(obj["rules"]) for obj in given}
    for obj in roles:
        path = f"/apis/{obj['apiVersion']}/{obj['kind'].lower()}s/{obj['metadata']['name']}"
        await admin.request("DELETE", path)
    del JOB_KINDS[DECLARED.name]


async def is_allowed(admin: KubernetesClient, role: Object) -> bool:
    """Tell whether the API server knows by now that a service's account has a role's rights."""
    account = role["metadata"]["name"].removesuffix("-kinds")
    rule = role["rules"][0]
    wish = {"group": rule["apiGroups"][0], "resource": rule["resources"][0]}
    spec = {
        "user": f"system:serviceaccount:tidegate-system:{account}",
        "resourceAttributes": {**wish, "verb": rule["verbs"][0]},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await admin.request("POST", path, body=msgspec.json.encode({"spec": spec}))
    return bool(msgspec.json.decode(answer.body)["status"]["allowed"])


async def test_ingest_asks_for_just_the_rights_of_the_enabled_kinds(
    real_api: str, enabled: dict[str, set[Right]]
) -> None:
    async with account(real_api, "tidegate-ingest") as recorded:
        await cluster_uid(recorded)
        kinds = (*FRAMEWORKS, "pod-group", "workload", DECLARED.name)
        session, bus = ingest(recorded, kinds)
        async with alongside(session.run()):
            await heartbeat(bus)
    assert recorded.refused == set()
    given = role("tidegate-ingest") | enabled["tidegate-ingest-kinds"]
    # A ResourceFlavor of a test beside this one may name a topology.
    assert given <= recorded.asked <= given | role("tidegate-ingest-topology")


async def test_the_actuator_asks_for_just_the_rights_of_the_enabled_kinds(
    real_api: str, admin: KubernetesClient, namespace: str, enabled: dict[str, set[Right]]
) -> None:
    async with account(real_api, "tidegate-actuator") as recorded:
        for kind, path, made in cases(namespace):
            fields = await create(admin, path, made)
            for order in orders(kind, fields):
                await applier(recorded).carry_out(order, lambda: False)
        lets_go = PodUngater(
            Calls(recorded, Metrics(CollectorRegistry())), Random(1), ElasticPods()
        )
        lets_go.set_active(True)
        async with asyncio.timeout(60), alongside(lets_go.run()):
            await eventually(lambda: Right("", "pods", "watch") in recorded.asked)
    assert recorded.refused == set()
    assert recorded.invalid == []
    asked = recorded.asked - role("tidegate-actuator")
    elastic = role("tidegate-actuator-elastic")
    assert asked | IMPLIED == enabled["tidegate-actuator-kinds"] | elastic


def cases(namespace: str) -> list[tuple[str, str, Object]]:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    member = waiting("member")
    member["metadata"]["labels"] = {"kueue.x-k8s.io/pod-group-name": "member"}
    member["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "1"}
    return [
        ("jobset.x-k8s.io/jobset", JOBSETS.format(namespace), jobset("train")),
        (DECLARED.name, VOYAGES.format(namespace), voyage("train")),
        ("pod", pods, waiting("train")),
        ("pod-group", pods, member),
    ]


def waiting(name: str) -> Object:
    spec = pods_template()["spec"]
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    return {"metadata": {"name": name}, "spec": {**spec, "schedulingGates": gates}}


def orders(kind: str, obj: Object) -> list[JobOrder]:
    """Return a start, a stop and an expiry of an object."""
    meta = obj["metadata"]
    uid = f"{meta['uid']}.group" if kind == "pod-group" else meta["uid"]
    job = ObjectRef(kind=kind, namespace=meta["namespace"], name=meta["name"], uid=uid)
    head: dict[str, Any] = {"at_us": AT_US, "workload": "w", "job": job}
    names = ["leader", "worker", "captain", "night", "main"]
    names += [role_of(read(obj, Pod))] if kind == "pod-group" else []
    given = tuple(PodSetStart(name=name, count=1) for name in names)
    return [
        Start(order=StartOrdered(**head, podsets=given), ledger_id="L", seq=1),
        Stop(order=StopOrdered(**head), ledger_id="L", seq=2),
        Expire(order=WorkloadExpired(**head), ledger_id="L", seq=3),
    ]


def applier(api: Recorded) -> Applier:
    metrics, random = Metrics(CollectorRegistry()), Random(1)
    port = MemoryBus().observation_publisher()
    reporter = Reporter(port, cluster="local", session="a", random=random, metrics=metrics)
    return Applier(Calls(api, metrics), reporter, random, metrics)


async def create(api: KubernetesApi, path: str, obj: Object) -> Object:
    async with asyncio.timeout(60):
        while True:  # a kind is served a moment after its definition was taken
            answer = await api.request("POST", path, body=msgspec.json.encode(obj))
            if answer.status not in {404, 503}:
                break
            await asyncio.sleep(0.1)
    assert answer.status == 201, answer.body
    made: Object = msgspec.json.decode(answer.body)
    return made
