"""Jobs that name no controller, in a queue whose ClusterQueue has a check of MultiKueue."""

from __future__ import annotations

from random import Random

from dispatcher.manager.queues import Queues
from tests.multikueue.sites import CHECK, NAMESPACE, QUEUE, until
from tests.multikueue.world import World, job
from tests.parts.stage import JOBS, KUEUE, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.kinds.names import SENDS_AWAY
from tidegate.kinds.policies.frameworks import framework
from tidegate.kinds.policies.managed_by import default_managed_by_policy
from tidegate.model.multikueue import CONTROLLER

ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def leads_away(world: World) -> str:
    queue = world.manager.stage.read(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues/{QUEUE}")
    current_conditions = queue.get("status", {}).get("conditions", [])
    return next(
        (
            condition["status"]
            for condition in current_conditions
            if condition["type"] == SENDS_AWAY
        ),
        "",
    )


def install(world: World) -> None:
    policy, binding = default_managed_by_policy(framework("batch/job"))
    world.manager.stage.make(f"{ADMISSION}/mutatingadmissionpolicies", policy)
    world.manager.stage.make(f"{ADMISSION}/mutatingadmissionpolicybindings", binding)


def test_multikueue_runs_a_job_that_names_no_controller() -> None:
    async def live() -> None:
        world = World()
        install(world)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: leads_away(world) == "True", "the queue says where it leads")
            plain = job("train", 30)
            del plain["spec"]["managedBy"]
            world.manager.stage.make(JOBS, plain)
            assert world.job("train")["spec"]["managedBy"] == CONTROLLER
            await world.chosen()
            await until(lambda: world.holds("Finished"), "it is finished here")

    run_virtually(live())


def test_a_queue_without_such_a_check_leads_nowhere_else() -> None:
    async def live() -> None:
        world = World()
        install(world)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: leads_away(world) == "True", "the queue says where it leads")
            queue = f"{KUEUE}/clusterqueues/{QUEUE}"
            world.manager.stage.change(queue, {"spec": {"admissionChecksStrategy": None}})
            await until(lambda: leads_away(world) == "False", "it says that it leads here")
            plain = job("train", 30)
            del plain["spec"]["managedBy"]
            world.manager.stage.make(JOBS, plain)
            assert "managedBy" not in world.job("train")["spec"]
            await until(lambda: world.holds("Finished"), "it runs here")

    run_virtually(live())


def test_a_queue_whose_cluster_queue_is_deleted_leads_nowhere_else() -> None:
    async def live() -> None:
        world = World()
        stage = world.manager.stage
        queues = Queues(stage.embedded, Random(1), stage.bus.now_us)
        queues.set_check(CHECK, remote=True)
        queues.begin()
        async with alongside(queues.run()):
            await until(lambda: leads_away(world) == "True", "the queue says where it leads")
            stage.remove(f"{KUEUE}/clusterqueues/{QUEUE}")
            await until(lambda: leads_away(world) == "False", "it says that it leads nowhere else")

    run_virtually(live())


def test_a_queue_without_a_cluster_queue_hinders_no_other() -> None:
    async def live() -> None:
        world = World()
        bare = kueue("LocalQueue", "bare")
        bare["metadata"]["namespace"] = NAMESPACE
        world.manager.stage.make(f"{KUEUE}/namespaces/{NAMESPACE}/localqueues", bare)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: leads_away(world) == "True", "the queue says where it leads")
            queue = f"{KUEUE}/clusterqueues/{QUEUE}"
            world.manager.stage.change(queue, {"spec": {"admissionChecksStrategy": None}})
            await until(lambda: leads_away(world) == "False", "it says that it leads here")

    run_virtually(live())


def test_a_cluster_without_a_spec_hinders_no_other() -> None:
    """Its CRD requires none."""

    async def live() -> None:
        world = World()
        bare = kueue("MultiKueueCluster", "bare")
        del bare["spec"]
        world.manager.stage.make(f"{KUEUE}/multikueueclusters", bare)
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: leads_away(world) == "True", "the queue says where it leads")

    run_virtually(live())
