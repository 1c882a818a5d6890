"""What grows and shrinks among a manager and two workers: an elastic Job, a LeaderWorkerSet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.among_clusters import (
    CONTROLLER,
    JOBS,
    LEADER_WORKER_SETS,
    LWS,
    NAME,
    PODS,
    Site,
    World,
    is_gated,
    world,
)
from tests.e2e.cast import Object
from tests.e2e.test_multikueue import create, described
from tidegate.kinds.names import ELASTIC_JOB, MANAGER_UID, WORKER_POD

pytestmark = [pytest.mark.real, pytest.mark.slow]


async def submit_elastic(there: World, name: str) -> None:
    """Make a Job of one pod of one CPU that may have two at once."""
    made = described(name, 900, managedBy=CONTROLLER)
    made["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    made["spec"] |= {"parallelism": 1, "completions": 3}
    await create(there.manager.api, JOBS, made)


async def size(there: World, site: Site, name: str, pods: int) -> None:
    """Let a Job ask for so many pods, and wait until they run on its worker."""
    await there.manager.change(f"{JOBS}/{name}", {"spec": {"parallelism": pods}})

    async def is_sized() -> bool:
        return len(await site.runs()) == pods

    await there.until(is_sized, f"{pods} pods of {name} run there")


async def test_an_elastic_job_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        await submit_elastic(there, "grows")
        worker = there.workers[await there.chosen("grows")]
        uid = (await worker.get(f"{JOBS}/grows"))["metadata"]["uid"]

        async def ends() -> None:
            for pods in (2, 1, 2):
                await size(there, worker, "grows", pods)
            obj = await worker.get(f"{JOBS}/grows")
            assert obj["metadata"]["uid"] == uid, "it was sent once"
            assert not await there.manager.items(PODS), "nothing runs here"
            await there.manager.remove(f"{JOBS}/grows")

        await there.outlive("grows", ends)


def leader_worker_set(name: str, replicas: int) -> Object:
    """Return a set of groups of a leader and a worker, of half a CPU each."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "500m"}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": "3600"}},
        "spec": {"restartPolicy": "Always", "containers": [container]},
    }
    groups = {"size": 2, "leaderTemplate": template, "workerTemplate": template}
    meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": NAME}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": meta,
        "spec": {"replicas": replicas, "leaderWorkerTemplate": groups},
    }


async def test_the_groups_of_a_leader_worker_set_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path, LWS) as there:
        await create(there.manager.api, LEADER_WORKER_SETS, leader_worker_set("llm", 1))
        worker = there.workers[await there.chosen("llm-0")]
        first, second = ["llm-0", "llm-0-1"], ["llm-1", "llm-1-1"]

        async def scaled(replicas: int, pods: list[str]) -> None:
            await there.manager.change(
                f"{LEADER_WORKER_SETS}/llm", {"spec": {"replicas": replicas}}
            )

            async def holds() -> bool:
                return await worker.runs() == pods

            await there.until(holds, f"{replicas} groups run there")

        async def ends() -> None:
            for replicas, pods in ((2, first + second), (1, first), (2, first + second)):
                await scaled(replicas, pods)
            await are_alike(there, worker)
            await there.manager.remove(f"{LEADER_WORKER_SETS}/llm")

        await there.outlive("llm-0", ends)


async def are_alike(there: World, worker: Site) -> None:
    """Look at what a set has here and on its worker: pods wait here, and are marked there."""
    here = await there.manager.get(f"{LEADER_WORKER_SETS}/llm")
    sent = await worker.get(f"{LEADER_WORKER_SETS}/llm")
    assert sent["metadata"]["annotations"][MANAGER_UID] == here["metadata"]["uid"]
    assert all(map(is_gated, await there.manager.items(PODS)))
    labels = [pod["metadata"]["labels"] for pod in await worker.items(PODS)]
    assert {label[WORKER_POD] for label in labels} == {"true"}
    others = [site for site in there.workers.values() if site is not worker]
    assert not any([await other.items(PODS) for other in others])
