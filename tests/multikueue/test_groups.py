"""Groups of pods on worker clusters: every part is real but the networks and the clock."""

from __future__ import annotations

import asyncio

from tests.multikueue.sites import Site, until
from tests.multikueue.world import PODS, WORKLOADS, Object, World, member
from tests.parts.stage import alongside
from tests.parts.virtual import run_virtually


def names(site: Site) -> list[str]:
    return sorted(one["metadata"]["name"] for one in site.items(PODS))


def phases(site: Site) -> dict[str, str]:
    return {one["metadata"]["name"]: one["status"].get("phase", "") for one in site.items(PODS)}


def is_gated(found: Object) -> bool:
    return bool(found["spec"].get("schedulingGates"))


def make(world: World, *names: str, **notes: str) -> None:
    for name in names:
        world.manager.stage.make(PODS, member(name, **notes))


async def running(world: World, *names: str) -> tuple[Site, Site]:
    """Wait until these pods of a group run; return the worker and the other one."""
    there, other = await world.chosen()
    await until(lambda: all(phases(there).get(one) == "Running" for one in names), "they run")
    return there, other


def test_a_group_runs_on_one_worker_and_its_pods_stay_gated_here() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two")
            there, other = await running(world, "one", "two")
            assert (there.name, names(other)) == ("w2", [])
            await until(lambda: set(phases(world.manager).values()) == {"Running"}, "seen running")
            assert all(map(is_gated, world.manager.items(PODS)))
            assert not any(map(is_gated, there.items(PODS)))
            await until(lambda: world.holds("Finished"), "it is finished")
            assert set(phases(world.manager).values()) == {"Succeeded"}
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())
