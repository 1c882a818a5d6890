"""Pods of an elastic RayJob: made by its cluster, and let go podset by podset."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import PodUngater
from tests.parts.definitions import RAY_CLUSTER, RAY_JOB
from tests.parts.foreign import pods_template
from tests.parts.stage import CRDS, KUEUE, Object, Stage, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.jobs.registry import job_kind

RAY = "/apis/ray.io/v1/namespaces/default"
PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
GATE = {"name": "kueue.x-k8s.io/elastic-job"}
AT = "2026-03-01T08:00:00Z"
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


class Ray(Stage):
    """A RayJob with a cluster of a head and three workers, as KubeRay makes them."""

    def __init__(self) -> None:
        super().__init__(with_crds=True)
        for crd in (RAY_CLUSTER, RAY_JOB):
            self.make(CRDS, crd)
        pods: Object = {"rayStartParams": {}, "template": pods_template()}
        group = {"groupName": "crew", "replicas": 3, **pods}
        cluster = {
            "headGroupSpec": pods,
            "workerGroupSpecs": [group],
        }
        spec = {"rayClusterSpec": cluster, "submissionMode": "HTTPMode"}
        job = self.create("RayJob", "train", {**spec, "shutdownAfterJobFinishes": True})
        status = {"jobDeploymentStatus": "Running", "rayClusterName": "train-x"}
        self.change(f"{RAY}/rayjobs/train/status", {"status": status})
        self.uid = job["metadata"]["uid"]
        self.cluster = self.create("RayCluster", "train-x", cluster, owner("RayJob", job))
        calls = Calls(self.api, Metrics(CollectorRegistry()))
        self.lets_go = PodUngater(calls, Random(3), ElasticPods())
        self.lets_go.set_active(True)

    def create(self, kind: str, name: str, spec: Object, *owners: Object) -> Object:
        meta = {"name": name, "annotations": ELASTIC, "ownerReferences": list(owners)}
        head = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": meta}
        return self.make(f"{RAY}/{kind.lower()}s", {**head, "spec": spec})

    def pod(self, name: str, podset: str, *owners: Object) -> None:
        labels = {"tidegate.dev/elastic": self.uid, "kueue.x-k8s.io/podset": podset}
        meta = {"name": name, "labels": labels, "ownerReferences": list(owners)}
        spec = {**pods_template()["spec"], "schedulingGates": [GATE]}
        self.make(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def version(self) -> str:
        read = {"beside": [self.read(f"{RAY}/rayclusters/train-x")]}
        return str(
            job_kind("ray.io/rayjob").size_version({**self.read(f"{RAY}/rayjobs/train"), **read})
        )

    def grant(self, crew: int) -> None:
        """Make the job's Workload, admitted with a head and so many workers."""
        counts = {"head": 1, "crew": crew}
        podsets = [
            {"name": name, "count": count, "template": pods_template()}
            for name, count in counts.items()
        ]
        obj = kueue("Workload", "w", queueName="main", podSets=podsets)
        obj["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": self.uid}
        obj["metadata"]["annotations"] = {"tidegate.dev/generation": self.version()}
        self.make(WORKLOADS, obj)
        fields = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": AT}
        held = [{"type": text, **fields} for text in ("QuotaReserved", "Admitted")]
        given = [{"name": name, "count": count} for name, count in counts.items()]
        status = {
            "conditions": held,
            "admission": {"clusterQueue": "cq", "podSetAssignments": given},
        }
        self.change(f"{WORKLOADS}/w/status", {"status": status})

    def let_go(self) -> list[str]:
        value = self.read(PODS)["items"]
        gated = [obj["metadata"]["name"] for obj in value if obj["spec"].get("schedulingGates")]
        return [obj["metadata"]["name"] for obj in value if obj["metadata"]["name"] not in gated]


def owner(kind: str, obj: Object) -> Object:
    named = {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}
    return {"apiVersion": "ray.io/v1", "kind": kind, "controller": True, **named}


def test_as_many_of_each_podset_go_as_were_granted_whichever_controller_made_them() -> None:
    async def run() -> None:
        stage = Ray()
        above = owner("RayCluster", stage.cluster)
        for name, podset in {"a1": "crew", "a2": "crew", "a3": "crew", "h": "head"}.items():
            stage.pod(name, podset, above)
        stage.pod("a0", "crew", {**above, "uid": "another"})  # it says that it is the job's
        stage.grant(2)
        async with alongside(stage.lets_go.run()):
            await eventually(lambda: stage.let_go() == ["a1", "a2", "h"])
            await asyncio.sleep(10)
            assert stage.let_go() == ["a1", "a2", "h"]

    run_virtually(run())


@pytest.mark.parametrize("change", [{"spec": {"suspend": False}}])
def test_no_pod_goes_until_the_workload_is_written_for_the_cluster_as_it_is(
    change: Object,
) -> None:
    async def run() -> None:
        stage = Ray()
        stage.pod("a1", "crew", owner("RayCluster", stage.cluster))
        stage.grant(2)
        stage.change(f"{RAY}/rayclusters/train-x", change)
        async with alongside(stage.lets_go.run()):
            await asyncio.sleep(10)
            assert stage.let_go() == []
            marks = {"tidegate.dev/generation": stage.version()}
            stage.change(f"{WORKLOADS}/w", {"metadata": {"annotations": marks}})
            await eventually(lambda: stage.let_go() == ["a1"])

    run_virtually(run())
