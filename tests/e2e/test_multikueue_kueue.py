"""Kueue itself among the clusters: as a worker of Tidegate's manager, and as Tidegate's manager."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.among_clusters import CONTROLLER, GROUP, JOBS, NAME, SETS, World
from tests.e2e.beside_kueue import KUEUE, TIDEGATE, clusters, stop
from tests.e2e.cast import Object
from tests.e2e.kueue_manager import kueue_module
from tests.e2e.kueue_module import KueueModule
from tests.e2e.test_multikueue import create, submit, submit_group
from tests.parts.foreign import jobset

__all__ = ["kueue_module"]

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]


def odd_set(name: str) -> Object:
    """Return a JobSet that says what it asks for as Kubernetes' own types do not."""
    made = jobset(name, NAME, cpu="0.5", seconds=5)
    made["spec"]["managedBy"] = CONTROLLER
    for role in made["spec"]["replicatedJobs"]:
        pod = role["template"]["spec"]["template"]["spec"]
        empty = {"name": "EMPTY", "value": ""}
        pod["containers"].append({"name": "d", "image": "none", "tty": False, "env": [empty]})
    return made


async def every_kind(there: World, worker: str) -> None:
    """Send a Job, a JobSet and a group of pods, each of which is to run on this worker."""
    api = there.manager.api
    await submit(api, "first", 5)
    assert await there.chosen("first") == worker
    await there.complete("first")
    await create(api, SETS, odd_set("set"))
    assert await there.chosen("set") == worker
    await there.complete("set", SETS)
    await submit_group(api, "group", 5)
    assert await there.chosen("group") == worker
    await there.succeeded("group")
    await there.clean()


async def outlives(there: World, worker: str) -> None:
    """Let the manager's services and the worker's begin anew while a job runs."""
    await submit(there.manager.api, "second", 40)
    assert await there.chosen("second") == worker
    await runs(there, worker)
    await there.workers[worker].fall()
    await there.manager.fall()
    await there.complete("second")
    await there.clean()


async def runs(there: World, worker: str) -> None:
    async def is_running() -> bool:
        return bool(await there.workers[worker].runs())

    await there.until(is_running, f"it runs in {worker}")


async def returns(there: World, worker: str) -> None:
    """Drain the manager's queue while a job runs: it is stopped there, and sent anew later."""
    await submit(there.manager.api, "fourth", 600)
    assert await there.chosen("fourth") == worker
    await runs(there, worker)
    await stop(there.manager, "HoldAndDrain")
    await there.clean()
    await stop(there.manager, "None")
    assert await there.chosen("fourth") == worker
    await runs(there, worker)
    await there.manager.remove(f"{JOBS}/fourth")
    await there.clean()


async def leaves(there: World, source: str, target: str) -> None:
    """Drain the cluster that runs a job, and see it run in another one, and nothing stay."""
    await submit(there.manager.api, "third", 600)
    assert await there.chosen("third") == source
    await runs(there, source)
    await stop(there.workers[target], "None")
    await stop(there.workers[source], "HoldAndDrain")
    await runs(there, target)

    async def is_moved() -> bool:
        return bool((await there.status("third")).get("clusterName") == target)

    await there.until(is_moved, f"it is {target}'s")
    workloads = f"{GROUP}/namespaces/{NAME}/workloads"
    assert not await there.workers[source].items(workloads), "the copy was withdrawn"
    await there.manager.remove(f"{JOBS}/third")
    await there.clean()


async def test_tidegate_sends_to_kueue(tmp_path: Path, kueue_module: KueueModule) -> None:
    async with clusters(tmp_path, kueue_module, TIDEGATE, w1=TIDEGATE, w2=KUEUE) as there:
        await stop(there.workers["w1"], "Hold")
        await every_kind(there, "w2")
        await outlives(there, "w2")
        await returns(there, "w2")
        await leaves(there, "w2", "w1")


async def test_kueue_sends_to_tidegate(tmp_path: Path, kueue_module: KueueModule) -> None:
    async with clusters(tmp_path, kueue_module, KUEUE, w1=TIDEGATE, w2=KUEUE) as there:
        await stop(there.workers["w2"], "Hold")
        await every_kind(there, "w1")
        await outlives(there, "w1")
        await returns(there, "w1")
        await leaves(there, "w1", "w2")
