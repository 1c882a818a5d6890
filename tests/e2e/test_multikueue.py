"""A job's life among a manager and two workers; see ``tests.e2e.among_clusters``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from tests.e2e.among_clusters import (
    CONTROLLER,
    JOBS,
    NAME,
    PODS,
    SETS,
    STATEFUL_SETS,
    World,
    is_gated,
    world,
)
from tests.e2e.cast import Object, until
from tests.parts.foreign import jobset
from tidegate.kinds.names import POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT, WORKER_POD
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
Submit: TypeAlias = Callable[[KubernetesApi, str, float], Awaitable[None]]
Submits: TypeAlias = tuple[Submit, Submit]
Ends: TypeAlias = Callable[[str], Awaitable[None]]


async def submit(api: KubernetesApi, name: str, seconds: float) -> None:
    await create(api, JOBS, described(name, seconds, managedBy=CONTROLLER))


async def submit_set(api: KubernetesApi, name: str, seconds: float) -> None:
    """Make a JobSet of two Jobs of one CPU each that MultiKueue may have."""
    made = jobset(name, NAME, seconds=seconds)
    await create(api, SETS, {**made, "spec": {**made["spec"], "managedBy": CONTROLLER}})


async def submit_group(api: KubernetesApi, name: str, seconds: float) -> None:
    """Make a group of two pods of one CPU each."""
    template = described(name, seconds)["spec"]["template"]
    for number in (1, 2):
        labels = {"kueue.x-k8s.io/queue-name": NAME, POD_GROUP_NAME: name}
        notes = {**template["metadata"]["annotations"], POD_GROUP_TOTAL_COUNT: "2"}
        meta = {"name": f"{name}-{number}", "labels": labels, "annotations": notes}
        await create(api, PODS, {"metadata": meta, "spec": template["spec"]})


async def submit_stateful_set(api: KubernetesApi, name: str) -> None:
    """Make a StatefulSet of two replicas of one CPU each."""
    template, app = described(name, 600)["spec"]["template"], {"app": name}
    template["metadata"]["labels"] = app
    template["spec"]["restartPolicy"] = "Always"
    spec = {"replicas": 2, "selector": {"matchLabels": app}, "template": template}
    spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": NAME}}
    await create(api, STATEFUL_SETS, {"metadata": meta, "spec": spec})


async def create(api: KubernetesApi, path: str, body: Object) -> None:
    answer = await api.request("POST", path, body=msgspec.json.encode(body))
    assert answer.status == 201, answer.body


async def submit_plain(api: KubernetesApi, name: str, seconds: float) -> None:
    """Make a job that names no controller, once such jobs are given to MultiKueue."""
    body = msgspec.json.encode(described(name, seconds))

    async def is_given() -> bool:
        answer = await api.request("POST", JOBS, body=body, query={"dryRun": "All"})
        made: Object = msgspec.json.decode(answer.body)
        return bool(made["spec"].get("managedBy") == CONTROLLER)

    await until(is_given, "jobs of the queue are given to MultiKueue", 300.0)
    await create(api, JOBS, described(name, seconds))


def described(name: str, seconds: float, **spec: str) -> Object:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": NAME}
    return {"metadata": {"name": name, "labels": labels}, "spec": {**spec, "template": template}}


async def runs_and_outlives(there: World, submits: Submits, ends: Ends) -> None:
    """Run two of a kind: one undisturbed, and one while services and its worker are killed."""
    await submits[0](there.manager.api, "first", 5)
    assert await there.chosen("first") == "w1", "the first of the configuration was asked alone"
    await ends("first")
    await there.clean()
    await submits[1](there.manager.api, "second", 40)
    await there.outlive("second", lambda: ends("second"))


async def test_jobs_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        await runs_and_outlives(there, (submit_plain, submit), there.complete)
        await submit_set(there.manager.api, "third", 40)
        await there.outlive("third", lambda: there.complete("third", SETS))


async def test_a_group_of_pods_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        await runs_and_outlives(there, (submit_group, submit_group), there.succeeded)


async def test_a_stateful_set_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        await submit_stateful_set(there.manager.api, "db")
        worker = there.workers[await there.chosen("db")]

        async def is_ready() -> bool:
            obj = await worker.get(f"{STATEFUL_SETS}/db")
            return bool(obj["status"].get("readyReplicas") == 2)

        await there.until(is_ready, "it is ready there")
        pods = await there.manager.items(PODS)
        assert [is_gated(pod) for pod in pods] == [True, True]
        labels = [pod["metadata"]["labels"] for pod in await worker.items(PODS)]
        assert [label[WORKER_POD] for label in labels] == ["true", "true"]
        answer = await there.manager.api.request("DELETE", f"{STATEFUL_SETS}/db")
        assert answer.status == 200, answer.body
        await there.clean()
