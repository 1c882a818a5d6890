"""Groups of pods on worker clusters: every part is real but the networks and the clock."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from tests.multikueue.sites import QUEUE, Site, until
from tests.multikueue.test_restarts import end_midway, services_of, watched
from tests.multikueue.world import PODS, POLICY, SENT, WORKLOADS, Object, World, member
from tests.parts.stage import KUEUE, alongside
from tests.parts.virtual import run_virtually

QUEUES = f"{KUEUE}/clusterqueues/{QUEUE}"


def names(site: Site) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in site.items(PODS))


def phases(site: Site) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["status"].get("phase", "") for pod in site.items(PODS)}


def uid_of(site: Site, name: str) -> str:
    uid: str = site.stage.read(f"{PODS}/{name}")["metadata"]["uid"]
    return uid


def is_gated(obj: Object) -> bool:
    return bool(obj["spec"].get("schedulingGates"))


def make(world: World, *names: str, **notes: str) -> None:
    for name in names:
        world.manager.stage.make(PODS, member(name, **notes))


async def running(world: World, *names: str) -> tuple[Site, Site]:
    """Wait until these pods of a group run; return the worker and the other one."""
    there, other = await world.chosen()
    await until(lambda: all(phases(there).get(text) == "Running" for text in names), "they run")
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


@pytest.mark.slow
def test_a_pod_that_failed_there_is_replaced_by_another_that_is_made_here() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", **{"simulate/exit-code": "1"})
            make(world, "two", **{"simulate/seconds": "300"})
            there, _ = await running(world, "two")
            other = uid_of(there, "two")
            await until(lambda: phases(world.manager)["one"] == "Failed", "it failed")
            world.manager.stage.remove(f"{PODS}/one")  # the oldest, whose uid the group has
            make(world, "three")
            await until(lambda: phases(there).get("three") == "Running", "another runs")
            await until(lambda: names(there) == ["three", "two"], "the failed one is gone there")
            assert uid_of(there, "two") == other, "the group is the same, and was not sent anew"
            await until(lambda: world.holds("Finished"), "it is finished")
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


@pytest.mark.slow
def test_a_pod_of_the_name_of_one_that_was_sent_runs_as_well() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two", **{"simulate/seconds": "300"})
            there, _ = await running(world, "one", "two")
            first = uid_of(there, "one")
            world.manager.stage.remove(f"{PODS}/one")
            make(world, "one")

            def another() -> bool:
                pods = [pod for pod in there.items(PODS) if pod["metadata"]["name"] == "one"]
                return bool(pods) and pods[0]["metadata"]["uid"] != first

            await until(another, "the pod there is another")
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())


def test_pods_beyond_the_number_of_a_group_are_not_sent_and_go() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two", "zoe", **{"simulate/seconds": "100"})
            there, _ = await running(world, "one", "two")
            await until(lambda: names(world.manager) == ["one", "two"], "the third is deleted")
            assert names(there) == ["one", "two"]
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())


def test_a_group_that_its_worker_evicts_runs_elsewhere_and_none_of_its_pods_failed_here() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        seen = set[str]()

        async def look() -> None:
            while True:
                seen.update(phases(world.manager).values())
                having = [worker.name for worker in world.workers.values() if worker.items(PODS)]
                assert len(having) <= 1, having
                await asyncio.sleep(0.2)

        async with world.running(), alongside(world.manager.dispatch()), alongside(look()) as eye:
            make(world, "one", "two", **{"simulate/seconds": "200"})
            there, other = await running(world, "one", "two")
            there.stage.change(QUEUES, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await until(lambda: set(phases(other).values()) == {"Running"}, "the other has it")
            await until(lambda: world.holds("Finished"), "it is finished")
            assert not eye.done(), eye.exception()
            assert "Failed" not in seen

    run_virtually(live())


def test_a_group_that_is_evicted_here_is_stopped_there_and_runs_again() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two", **{"simulate/seconds": "200"})
            await running(world, "one", "two")
            path = f"{WORKLOADS}/crew"
            world.manager.stage.change(path, {"spec": {"active": False}})
            await until(world.is_clean, "nothing is left on the workers")
            await until(lambda: not world.holds("QuotaReserved"), "its quota is free")
            assert all(map(is_gated, world.manager.items(PODS)))
            world.manager.stage.change(path, {"spec": {"active": True}})
            await running(world, "one", "two")
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())


@pytest.mark.slow
def test_a_group_of_a_worker_that_is_lost_runs_elsewhere() -> None:
    async def live() -> None:
        policy = replace(POLICY, multikueue=replace(SENT, worker_lost_us=60_000_000))
        world = World(policy, quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two", **{"simulate/seconds": "400"})
            there, other = await running(world, "one", "two")
            there.stage.api.down = True
            await until(lambda: set(phases(other).values()) == {"Running"}, "the other has it")
            there.stage.api.down = False
            await until(lambda: not there.items(PODS), "the lost one gives it back")
            await until(lambda: world.holds("Finished"), "it is finished")
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_a_group_is_gone_there_with_its_last_pod_here() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", "two", **{"simulate/seconds": "400"})
            there, _ = await running(world, "one", "two")
            world.manager.stage.remove(f"{PODS}/one")
            await until(lambda: names(there) == ["two"], "one is gone there")
            world.manager.stage.remove(f"{PODS}/two")
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


@pytest.mark.slow
def test_a_group_with_a_final_pod_ends_once_none_of_it_runs_there() -> None:
    async def live() -> None:
        world = World()
        final = {"kueue.x-k8s.io/retriable-in-group": "false"}
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", **final, **{"simulate/exit-code": "1"})
            make(world, "two", **{"simulate/seconds": "200"})
            await running(world, "two")
            await until(lambda: phases(world.manager)["one"] == "Failed", "one failed")
            await asyncio.sleep(60)
            assert not world.holds("Finished"), "the other runs"
            await until(lambda: world.holds("Finished"), "it is finished")
            assert phases(world.manager)["two"] == "Succeeded"

    run_virtually(live())


@pytest.mark.slow
def test_a_group_with_fast_admission_is_sent_as_its_pods_come() -> None:
    async def live() -> None:
        world = World()
        fast = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}
        async with world.running(), alongside(world.manager.dispatch()):
            make(world, "one", **fast, **{"simulate/seconds": "200"})
            there, _ = await running(world, "one")
            make(world, "two", **fast)
            await until(lambda: phases(there).get("two") == "Running", "the second runs too")
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())


@pytest.mark.slow
def test_every_service_of_the_manager_may_end_midway_in_a_groups_life() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        manager = world.manager
        async with (
            alongside(world.workers["w1"].run()),
            alongside(world.workers["w2"].run()),
            alongside(manager.controller_manager.run()),
            watched(world, PODS),
        ):
            make(world, "one", "two", **{"simulate/seconds": "150"})
            await end_midway(world, services_of(manager), 0.7, 1.3, 2.1, 3.4, 5.5, 8.9)

    run_virtually(live())


@pytest.mark.slow
def test_a_worker_may_end_midway_in_a_groups_life() -> None:
    """Its own services find the Workload that was sent, and the pods that are its job."""

    async def live() -> None:
        world = World()
        worker = world.workers["w2"]
        async with (
            alongside(world.workers["w1"].run()),
            alongside(world.manager.run()),
            alongside(world.manager.dispatch()),
            alongside(worker.controller_manager.run()),
            watched(world, PODS),
        ):
            make(world, "one", "two", **{"simulate/seconds": "150"})
            services = worker.schedule, worker.ingest, worker.actuate
            await end_midway(world, services, 0.9, 1.7, 2.9, 4.7, 9.1)
            assert not world.event_messages("EvictedDueToAdmissionCheck")

    run_virtually(live())
