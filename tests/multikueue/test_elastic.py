"""Elastic jobs among a manager and two workers: they grow by slices there and shrink in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.multikueue.ordeal import is_complete
from tests.multikueue.sites import Site, until
from tests.multikueue.world import PODS, WORKLOADS, Object, World, job
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually
from tidegate.kinds.names import ELASTIC_JOB, SLICE_REPLACES

LONG_S = 900


def elastic(pods: int, seconds: int, completions: int) -> Object:
    made = job("train", seconds)
    made["metadata"]["annotations"] = {ELASTIC_JOB: "true"}
    made["spec"] |= {"parallelism": pods, "completions": completions}
    return made


def size(world: World, pods: int) -> None:
    world.manager.stage.change(f"{JOBS}/train", {"spec": {"parallelism": pods}})


async def ask_in_vain(world: World, site: Site, pods: int) -> None:
    """Want more pods than its worker has room for, until a slice waits there."""
    size(world, pods)
    await until(lambda: len(site.items(WORKLOADS)) == 2, "its copy is made there")


def running(site: Site) -> int:
    return len([pod for pod in site.items(PODS) if pod["status"].get("phase") == "Running"])


def conditions(site: Site) -> dict[str, str]:
    """Return by the slice that each Workload replaces, shortly, how it stands."""
    mapping = dict[str, str]()
    for workload in site.items(WORKLOADS):
        held = {
            each["type"]: each["reason"]
            for each in workload.get("status", {}).get("conditions", ())
            if each["status"] == "True"
        }
        replaces = workload["metadata"]["annotations"].get(SLICE_REPLACES, "")
        mapping[replaces.rpartition("-")[2] if replaces else ""] = held.get(
            "Finished", "Admitted" if "Admitted" in held else ""
        )
    return mapping


def counts(site: Site) -> set[int]:
    return {workload["spec"]["podSets"][0]["count"] for workload in site.items(WORKLOADS)}


@asynccontextmanager
async def grown(
    quotas: tuple[str, str] = ("4", "1"), seconds: int = LONG_S, completions: int = 100
) -> AsyncGenerator[tuple[World, Site]]:
    """Run a job of two pods on a worker."""
    world = World(quotas=quotas)
    async with world.running(), alongside(world.manager.dispatch()):
        world.manager.stage.make(JOBS, elastic(2, seconds, completions))
        site, _ = await world.chosen()
        await until(lambda: running(site) == 2, "two pods run there")
        yield world, site


def test_a_job_grows_by_a_slice_on_its_worker_and_shrinks_in_place() -> None:
    async def live() -> None:
        async with grown() as (world, site):
            uid = world.job("train", site)["metadata"]["uid"]
            size(world, 4)
            await until(lambda: running(site) == 4, "four pods run there")
            size(world, 1)
            await until(lambda: running(site) == 1, "one pod runs there")
            await until(lambda: counts(site) == {2, 1}, "the copy of its slice is as small")
            assert world.job("train", site)["metadata"]["uid"] == uid
            assert conditions(site)[""] == "WorkloadSliceReplaced"
            assert not world.workers["w2"].items(WORKLOADS)
            world.manager.stage.remove(f"{JOBS}/train")
            await until(world.is_clean, "nothing is left")

    run_virtually(live())


def test_a_slice_waits_for_room_on_the_worker_of_its_job_and_nowhere_else() -> None:
    async def live() -> None:
        async with grown(("3", "1")) as (world, site):
            await ask_in_vain(world, site, 4)
            assert running(site) == 2
            await asyncio.sleep(30)
            assert running(site) == 2, "the job goes on as it was"
            assert {*conditions(site).values()} == {"Admitted", ""}
            size(world, 1)
            await until(lambda: running(site) == 1, "it may become smaller while a slice waits")
            await until(lambda: conditions(site)[""] != "Admitted", "the slice took its place")
            size(world, 3)
            await until(lambda: running(site) == 3, "and grow again")
            assert not world.workers["w2"].items(WORKLOADS)

    run_virtually(live())


def test_a_job_ends_though_a_slice_of_it_waits_on_its_worker() -> None:
    async def live() -> None:
        async with grown(("2", "1"), seconds=60, completions=3) as (world, site):
            await ask_in_vain(world, site, 3)
            await until(lambda: is_complete(world.job("train")), "the job here is complete")
            await until(world.is_clean, "nothing is left")

    run_virtually(live())


def test_what_is_evicted_while_a_slice_waits_is_stopped_there_and_runs_again() -> None:
    async def live() -> None:
        async with grown(("3", "1")) as (world, site):
            await ask_in_vain(world, site, 4)
            slices = world.manager.items(WORKLOADS)
            name = next(obj["metadata"]["name"] for obj in slices if "Finished" not in str(obj))
            world.manager.stage.change(f"{WORKLOADS}/{name}", {"spec": {"active": False}})
            await until(world.is_clean, "nothing is left there")
            size(world, 3)
            world.manager.stage.change(f"{WORKLOADS}/{name}", {"spec": {"active": True}})
            await until(lambda: running(site) == 3, "it runs again, as large as it wants to be")

    run_virtually(live())
