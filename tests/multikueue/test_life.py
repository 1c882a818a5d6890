"""A job's life on worker clusters: every part is real but the networks and the clock."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from dispatcher.workers.job_sync import JobSyncer
from tests.multikueue.sites import QUEUE, until
from tests.multikueue.world import PODS, POLICY, SENT, WORKLOADS, World, job, pod
from tests.parts.stage import JOBS, KUEUE, Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.names import MANAGER


def test_a_job_runs_on_the_first_worker_that_admits_it_and_its_end_is_seen_here() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            there, other = await world.chosen()
            assert "nominatedClusterNames" not in world.status()
            await until(lambda: not other.items(WORKLOADS), "the other copy is gone")
            await until(lambda: world.job("train")["status"].get("active") == 1, "seen running")
            assert world.job("train", there)["spec"].get("managedBy") is None
            assert not other.items(JOBS)
            await until(lambda: world.holds("Finished"), "it is finished here")
            done = [condition["type"] for condition in world.job("train")["status"]["conditions"]]
            assert "Complete" in done
            await until(world.is_clean, "nothing is left on the workers")
            assert world.status()["clusterName"] == there.name
            assert world.event_messages("MultiKueue") == [
                f'The workload was admitted on "{there.name}"'
            ]

    run_virtually(live())


def test_a_job_is_shown_as_suspended_while_its_copy_runs_ahead_of_it() -> None:
    async def live() -> None:
        stage, kind = Stage(), JOB_KINDS["batch/job"]
        local = stage.make(JOBS, job("train", 30))
        remote = {**local, "spec": {**local["spec"], "suspend": False}, "status": {"active": 1}}
        remote["metadata"] = {**local["metadata"], "labels": {MANAGER: "m1"}}
        result, _ = await JobSyncer(stage.api, "m1").copy_status(kind, local, remote)
        assert result == "later"
        [condition] = stage.read(f"{JOBS}/train")["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Suspended", "MultiKueueAdapter")

    run_virtually(live())


def test_a_job_goes_to_the_only_worker_that_has_room() -> None:
    async def live() -> None:
        world = World()
        async with world.running():
            world.manager.stage.make(JOBS, job("train", 30, cpu="3"))
            async with alongside(world.manager.dispatch()):
                await until(lambda: world.holds("Finished"), "it is finished")
                assert world.status()["clusterName"] == "w2"

    run_virtually(live())


def test_a_job_goes_elsewhere_once_its_worker_is_lost_for_too_long() -> None:
    async def live() -> None:
        policy = replace(POLICY, multikueue=replace(SENT, worker_lost_us=60_000_000))
        world = World(policy, quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 400))
            there, other = await world.chosen()
            there.stage.api.down = True
            await until(lambda: world.status().get("clusterName") == other.name, "the other has it")
            there.stage.api.down = False
            await until(lambda: not there.items(JOBS), "the lost one gives it back")
            await until(lambda: world.holds("Finished"), "it is finished")
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_a_short_loss_moves_nothing_and_what_was_missed_is_seen() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 60))
            there, _ = await world.chosen()
            there.stage.api.down = True
            await asyncio.sleep(90)
            assert world.status()["clusterName"] == there.name
            assert not world.holds("Finished")
            there.stage.api.down = False
            await until(lambda: world.holds("Finished"), "it is finished")
            current_conditions = [
                condition
                for condition in world.status()["conditions"]
                if condition["type"] == "Evicted"
            ]
            assert current_conditions == []

    run_virtually(live())


def test_a_dispatcher_that_begins_midway_goes_on() -> None:
    async def live() -> None:
        world = World()
        async with world.running():
            async with alongside(world.manager.dispatch()):
                world.manager.stage.make(JOBS, job("train", 120))
                there, _ = await world.chosen()
            first = world.job("train", there)["metadata"]["uid"]
            await asyncio.sleep(30)
            async with alongside(world.manager.dispatch()):
                await until(lambda: world.holds("Finished"), "it is finished")
            assert {world.job("train", there).get("metadata", {}).get("uid", first)} == {first}

    run_virtually(live())


def test_what_is_deleted_here_is_deleted_there() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 400))
            there, _ = await world.chosen()
            await until(lambda: there.items(JOBS), "it runs")
            world.manager.stage.remove(f"{JOBS}/train")
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_a_job_that_its_worker_evicts_is_sent_anew() -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 400))
            there, other = await world.chosen()
            await until(lambda: world.job("train")["status"].get("active") == 1, "seen running")
            queue = f"{KUEUE}/clusterqueues/{QUEUE}"
            there.stage.change(queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await until(lambda: world.status().get("clusterName") == other.name, "the other has it")
            assert not there.items(JOBS)

    run_virtually(live())


def test_a_job_ends_although_the_pods_that_failed_before_are_not_of_its_last_worker() -> None:
    """The API server lets no counter of a Job's status go down."""

    async def live() -> None:
        world = World(quotas=("4", "4"))
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 60))
            there, other = await world.chosen()
            there.stage.change(f"{JOBS}/train/status", {"status": {"failed": 1}})
            await until(lambda: world.job("train")["status"].get("failed") == 1, "one failed")
            queue = f"{KUEUE}/clusterqueues/{QUEUE}"
            there.stage.change(queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await until(lambda: world.status().get("clusterName") == other.name, "the other has it")
            await until(lambda: world.job("train")["status"].get("active") == 1, "seen running")
            await until(lambda: world.holds("Finished"), "it is finished")
            assert world.job("train")["status"]["failed"] == 1
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def test_a_pod_stays_gated_here_and_shows_how_it_does_there() -> None:
    async def live() -> None:
        world = World()
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(PODS, pod("solo"))
            there, _ = await world.chosen()
            await until(lambda: there.items(PODS), "it is there")
            await until(lambda: world.pod("solo")["status"].get("phase") == "Running", "it runs")
            assert world.pod("solo")["spec"]["schedulingGates"]
            await until(lambda: world.holds("Finished"), "it is finished")

    run_virtually(live())
