"""Copies on a real API server: made from a body, and shown at home by the rights that there are."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.copies.copier import Copier
from actuator.metrics import Metrics
from actuator.ordering.orders import MakeCopy, RemoveCopy
from actuator.ordering.reports import Reporter
from tests.bus.memory.all_ports import MemoryBus
from tests.members.stage import change, send
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.jobs.placed.body import body_of, digest_of, status_patch
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kube.client import KubernetesClient
from tidegate.model.ids import ObjectRef

Object = dict[str, Any]
KIND = JOB_KINDS["batch/job"]
ACCEPTS: Object = {"metadata": {"labels": {names.ACCEPTS_PLACED: "true"}}}
ORIGIN = "uid-1@east"
AT = "2026-01-01T00:00:{:02}Z"
MET = {"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"}
STATUSES: tuple[Object, ...] = (
    {"active": 1, "ready": 1, "terminating": 0, "startTime": AT.format(1)},
    {},
    {"active": 1, "ready": 0, "terminating": 0, "failed": 1, "startTime": AT.format(2)},
    {
        "active": 0,
        "ready": 0,
        "terminating": 0,
        "succeeded": 1,
        "startTime": AT.format(2),
        "completionTime": AT.format(5),
        "conditions": [
            MET | {"lastTransitionTime": AT.format(5), "lastProbeTime": AT.format(5)},
            {**MET, "type": "Complete"}
            | {"lastTransitionTime": AT.format(5), "lastProbeTime": AT.format(5)},
        ],
    },
)
"""What a copy says, one after the other: it runs, is evicted, runs again and ends."""


def job(name: str) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    labels = {names.QUEUE_NAME: "main"}
    spec = {"suspend": True, "managedBy": names.PLACED, "template": {"spec": pod}}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


async def read(api: KubernetesClient, path: str) -> Object:
    answer = await api.request("GET", path)
    assert answer.status == 200, answer.body
    document: Object = msgspec.json.decode(answer.body)
    return document


async def test_a_job_at_home_shows_each_status_of_its_copies(
    admin: KubernetesClient, namespace: str
) -> None:
    await send(admin, KIND.path(namespace), job("home"))
    path = KIND.path(namespace, "home")
    for status in STATUSES:
        text = msgspec.json.encode(status).decode() if status else ""
        patch = status_patch(await read(admin, path), text)
        assert patch is not None
        await change(admin, f"{path}/status", patch)
    shown = (await read(admin, path))["status"]
    assert (shown["succeeded"], shown["failed"]) == (1, 1)
    assert KIND.terminal_phase(await read(admin, path)) == "Succeeded"


async def test_a_copy_is_made_once_and_removed(admin: KubernetesClient, namespace: str) -> None:
    await send(admin, KIND.path(namespace), job("train"))
    path = KIND.path(namespace, "train")
    body = body_of(KIND, await read(admin, path))
    await admin.request("DELETE", path, body=b'{"propagationPolicy":"Background"}')
    await change(admin, f"/api/v1/namespaces/{namespace}", ACCEPTS)
    bus, metrics, random = MemoryBus(), Metrics(CollectorRegistry()), Random(1)
    await bus.bodies("east").put(digest_of(body), body)
    port = bus.observation_publisher()
    reporter = Reporter(port, cluster="west", session="s", random=random, metrics=metrics)
    copier = Copier(Calls(admin, metrics), bus.bodies(), reporter, random, metrics)
    copy = ObjectRef(kind=KIND.name, namespace=namespace, name="train")
    about: dict[str, Any] = {"at_us": 1, "workload": "w@east", "uid": ORIGIN}
    order = CopyOrdered(**about, job=copy, copy=copy, body=digest_of(body))
    for seq in (1, 2):
        await copier.carry_out(MakeCopy(order=order, ledger_id="L", seq=seq), lambda: False)
    made = await read(admin, path)
    assert made["metadata"]["annotations"][names.ORIGIN] == ORIGIN
    assert made["spec"]["suspend"]
    assert "managedBy" not in made["spec"]
    named = replace(copy, uid=made["metadata"]["uid"])
    removal = CopyRemovalOrdered(**about, copy=named, reason="Finished")
    await copier.carry_out(RemoveCopy(order=removal, ledger_id="L", seq=3), lambda: False)
    answer = await admin.request("GET", path)
    assert answer.status == 404 or b"deletionTimestamp" in answer.body
    assert bus.observations.count == 0
