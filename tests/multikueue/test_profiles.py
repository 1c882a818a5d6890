"""A worker cluster that a ClusterProfile describes. Source: multikueue.md 5.1 case 7."""

from __future__ import annotations

import asyncio

from tests.multikueue.sites import until
from tests.multikueue.test_definitions import read
from tests.multikueue.world import Object, World
from tests.parts.foreign import foreign_crd
from tests.parts.stage import KUEUE, alongside
from tests.parts.virtual import run_virtually
from tidegate.service.config.access_providers import AccessProvider, ExecConfig

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{}/clusterprofiles"
OURS = PROFILES.format("tidegate-system")
CORP = AccessProvider(
    name="corp",
    exec_config=ExecConfig(
        command="corp-login",
        api_version="client.authentication.k8s.io/v1",
        interactive_mode="Never",
    ),
)
LOAD = "load client config failed: "
NO_PROVIDER = f"{LOAD}no access provider configured"


def missing(name: str) -> str:
    return f'{LOAD}clusterprofiles.multicluster.x-k8s.io "{name}" not found'


def lead(world: World, worker: str) -> None:
    """Have the provider corp of the profile p lead to a worker."""
    server = {"server": f"https://{worker}.example:6443"}
    status = {"accessProviders": [{"name": "corp", "cluster": server}]}
    world.manager.stage.change(f"{OURS}/p/status", {"status": status})


def profile(name: str, namespace: str = "tidegate-system") -> Object:
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterManager": {"name": "inventory"}},
    }


def refer(world: World, cluster: str, name: str) -> None:
    source = {"kubeConfig": None, "clusterProfileRef": {"name": name}}
    path = f"{KUEUE}/multikueueclusters/{cluster}"
    world.manager.stage.change(path, {"spec": {"clusterSource": source}})


async def says(world: World, message: str, *clusters: str) -> None:
    """Wait until the condition Active of clusters has a message."""

    def holds() -> bool:
        documents = (read(world, "multikueueclusters", cluster) for cluster in clusters)
        current_conditions = [obj.get("status", {}).get("conditions", [{}])[0] for obj in documents]
        return all(condition.get("message") == message for condition in current_conditions)

    await until(holds, f"{clusters}: {message}")


def test_clusters_follow_their_profiles() -> None:
    async def live() -> None:
        world = World()
        world.manager.providers = ()
        stage = world.manager.stage
        for cluster in ("w1", "w2"):
            refer(world, cluster, "p")
        async with world.running(), alongside(world.manager.dispatch()):
            await says(world, missing("p"), "w1", "w2")
            stage.make(CRDS, foreign_crd("clusterprofile"))
            stage.make(PROFILES.format("default"), profile("p", "default"))
            await asyncio.sleep(30)
            await says(world, missing("p"), "w1", "w2")
            stage.make(OURS, profile("p"))
            await says(world, NO_PROVIDER, "w1", "w2")
            stage.remove(f"{OURS}/p")
            await says(world, missing("p"), "w1", "w2")
            stage.make(OURS, profile("p"))
            await says(world, NO_PROVIDER, "w1", "w2")
            refer(world, "w1", "q")
            await says(world, missing("q"), "w1")
            stage.make(OURS, profile("q"))
            await says(world, NO_PROVIDER, "w1", "w2")

    run_virtually(live())


def test_with_the_gate_closed_a_profile_changes_nothing() -> None:
    async def live() -> None:
        world = World()
        refer(world, "w1", "p")
        world.manager.stage.make(CRDS, foreign_crd("clusterprofile"))
        disabled = f"{LOAD}MultiKueueClusterProfile feature gate is disabled"
        async with world.running(), alongside(world.manager.dispatch()):
            await says(world, disabled, "w1")
            world.manager.stage.make(OURS, profile("p"))
            lead(world, "w1")
            await asyncio.sleep(30)
            await says(world, disabled, "w1")
            await says(world, "Connected", "w2")

    run_virtually(live())


def test_a_cluster_of_a_profile_is_connected_to_and_a_changed_profile_connects_it_anew() -> None:
    async def live() -> None:
        world = World()
        world.manager.providers = (CORP,)
        world.manager.stage.make(CRDS, foreign_crd("clusterprofile"))
        world.manager.stage.make(OURS, profile("p"))
        lead(world, "w1")
        refer(world, "w1", "p")
        api, other = (world.workers[name].stage.api for name in ("w1", "w2"))
        lists = ("GET", f"{KUEUE}/workloads")
        async with world.running(), alongside(world.manager.dispatch()):
            await says(world, "Connected", "w1", "w2")
            before = other.requests.count(lists)
            assert api.requests.count(lists) == 1
            lead(world, "w2")
            await until(lambda: other.requests.count(lists) > before, "it leads to w2 now")

    run_virtually(live())
