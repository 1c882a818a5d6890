"""A Ray job that grows is reported anew when its cluster changes, which no other object says."""

from __future__ import annotations

import asyncio

import pytest

from ingest.jobs.scope import Scope
from ingest.resources import watched
from tests.ingest.scene import session
from tests.parts.definitions import RAY_CLUSTER, RAY_JOB
from tests.parts.foreign import pods_template
from tests.parts.stage import CRDS, Object, Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import JobObserved
from tidegate.jobs.registry import JOB_KINDS

RAY = "/apis/ray.io/v1/namespaces/default"
OPEN = Scope(elastic=True)
META: Object = {
    "name": "train",
    "labels": {"kueue.x-k8s.io/queue-name": "main"},
    "annotations": {"kueue.x-k8s.io/elastic-job": "true"},
}


def cluster(crew: int) -> Object:
    pods: Object = {"rayStartParams": {}, "template": pods_template()}
    group = {"groupName": "crew", "replicas": crew, **pods}
    return {"headGroupSpec": pods, "workerGroupSpecs": [group]}


def running(stage: Stage, meta: Object = META, state: str = "Running") -> None:
    """Make a RayJob, and its cluster as KubeRay makes it."""
    spec: Object = {"rayClusterSpec": cluster(2), "submissionMode": "HTTPMode"}
    spec |= {"shutdownAfterJobFinishes": True}
    head = {"apiVersion": "ray.io/v1", "kind": "RayJob"}
    job = stage.make(f"{RAY}/rayjobs", {**head, "metadata": meta, "spec": spec})
    status = {"jobDeploymentStatus": state, "rayClusterName": "train-x"}
    stage.change(f"{RAY}/rayjobs/train/status", {"status": status})
    owner = {**head, "name": "train", "uid": job["metadata"]["uid"], "controller": True}
    meta = {**meta, "name": "train-x", "ownerReferences": [owner]}
    child = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta}
    stage.make(f"{RAY}/rayclusters", {**child, "spec": cluster(2)})


def workers(observation: JobObserved) -> int:
    return {podset.name: podset.count for podset in observation.podsets}.get("crew", -1)


@pytest.mark.parametrize("grown", [5, 1])
def test_a_ray_job_is_as_large_as_its_cluster(grown: int) -> None:
    async def run() -> None:
        stage = Stage()
        for crd in (RAY_CLUSTER, RAY_JOB):
            stage.make(CRDS, crd)
        running(stage)
        async with alongside(session(stage, scope=OPEN).run()):
            observations = await stage.hear(
                JobObserved,
                lambda observation: observation.state.sized and workers(observation) == 2,
            )
            change = {"spec": cluster(grown)}
            stage.change(f"{RAY}/rayclusters/train-x", change)
            newer = await stage.hear(JobObserved, lambda observation: workers(observation) == grown)
        assert newer.name == "train"
        assert newer.state.size_version == observations.state.size_version + 1
        assert newer.state.generation == observations.state.generation

    run_virtually(run())


def test_a_ray_job_whose_cluster_is_gone_is_as_large_as_it_was_made() -> None:
    async def run() -> None:
        stage = Stage()
        for crd in (RAY_CLUSTER, RAY_JOB):
            stage.make(CRDS, crd)
        running(stage)
        stage.change(f"{RAY}/rayclusters/train-x", {"spec": cluster(6)})
        async with alongside(session(stage, scope=OPEN).run()):
            await stage.hear(JobObserved, lambda observation: workers(observation) == 6)
            stage.remove(f"{RAY}/rayclusters/train-x")
            observations = await stage.hear(
                JobObserved,
                lambda observation: (
                    workers(observation) == 2
                    and observation.name == "train"
                    and observation.podsets
                ),
            )
        assert observations.elastic

    run_virtually(run())


def test_clusters_of_a_kind_that_is_not_enabled_do_not_count_as_its_jobs() -> None:
    def resources(*names: str) -> list[str]:
        resources = watched([JOB_KINDS[name] for name in names])
        return [
            resource.resource for resource in resources if resource.path.endswith("/rayclusters")
        ]

    assert resources("ray.io/rayjob", "ray.io/rayservice") == ["described-rayclusters.ray.io"]
    assert resources("ray.io/rayjob", "ray.io/raycluster") == ["rayclusters.ray.io"]


@pytest.mark.parametrize("meta", [META, {**META, "annotations": {}}], ids=["elastic", "fixed"])
def test_a_ray_job_that_has_ended_is_charged_until_its_cluster_is_gone(meta: Object) -> None:
    """KubeRay keeps the cluster for as long as ttlSecondsAfterFinished says."""

    async def run() -> None:
        stage = Stage()
        for crd in (RAY_CLUSTER, RAY_JOB):
            stage.make(CRDS, crd)
        running(stage, meta, "Running")
        async with alongside(session(stage, scope=OPEN).run()):
            await stage.hear(JobObserved, lambda observation: workers(observation) == 2)
            status = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}
            stage.change(f"{RAY}/rayjobs/train/status", {"status": status})
            await asyncio.sleep(5)
            heard = [each for each in await stage.heard() if isinstance(each, JobObserved)]
            assert [each.finished for each in heard if each.name == "train"][-1] == ""
            stage.remove(f"{RAY}/rayclusters/train-x")
            await stage.hear(JobObserved, lambda observation: observation.finished == "Succeeded")

    run_virtually(run())
