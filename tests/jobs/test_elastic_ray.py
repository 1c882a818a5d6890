"""Elastic Ray jobs: whose workers are counted, which version of them, and what a start gives."""

from __future__ import annotations

import pytest

from tests.jobs.walking import carried_out
from tests.parts.foreign import pods_template
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved
from tidegate.jobs.kind import Object, Patch, Start, Stop
from tidegate.jobs.ray import ray_cluster, ray_job, ray_service
from tidegate.kinds.decode import read
from tidegate.model.ids import ObjectRef

CREATED = "2026-03-01T08:00:00Z"
ELASTIC = "kueue.x-k8s.io/elastic-job"
KINDS = {"RayCluster": ray_cluster.KIND, "RayJob": ray_job.KIND, "RayService": ray_service.KIND}
RUNNING: dict[str, Object] = {
    "RayJob": {
        "jobDeploymentStatus": "Running",
        "rayClusterName": "train-x",
        "rayClusterStatus": {"state": "ready", "availableWorkerReplicas": 3},
    },
    "RayService": {
        "activeServiceStatus": {
            "rayClusterName": "train-x",
            "rayClusterStatus": {"state": "ready", "availableWorkerReplicas": 3},
        },
        "pendingServiceStatus": {"rayClusterName": "train-y"},
    },
}
PATH = "/apis/ray.io/v1/namespaces/team/rayclusters/train-x"


def cluster(crew: int, generation: int = 1, created: str = CREATED) -> Object:
    pods: Object = {"rayStartParams": {}, "template": pods_template()}
    group = {"groupName": "Crew", "replicas": crew, **pods}
    return {
        "metadata": {"generation": generation, "creationTimestamp": created},
        "spec": {
            "enableInTreeAutoscaling": True,
            "headGroupSpec": pods,
            "workerGroupSpecs": [group],
        },
    }


def made(kind: str, crew: int = 2, *, runs: bool = True, **beside: list[Object]) -> Object:
    spec = cluster(crew)["spec"]
    if kind == "RayJob":
        spec = {"rayClusterSpec": spec, "submissionMode": "K8sJobMode"}
        spec |= {"shutdownAfterJobFinishes": True, "suspend": not runs}
    elif kind == "RayService":
        spec = {"rayClusterConfig": {**spec, "suspend": not runs}}
    else:
        spec = {**spec, "suspend": not runs}
    meta: Object = {"name": "train", "namespace": "team", "uid": "u1", "generation": 4}
    meta |= {"creationTimestamp": CREATED, "resourceVersion": "9"}
    meta |= {"labels": {"kueue.x-k8s.io/queue-name": "main"}, "annotations": {ELASTIC: "true"}}
    status = RUNNING.get(kind, {"state": "ready", "availableWorkerReplicas": 3}) if runs else {}
    return {"metadata": meta, "spec": spec, "status": status, **beside}


def seen(kind: str, obj: Object) -> JobObserved:
    observation: JobObserved = KINDS[kind].observe(read(obj, KINDS[kind].object_type))
    return observation


def counts(observation: JobObserved) -> dict[str, int]:
    return {podset.name: podset.count for podset in observation.podsets}


@pytest.mark.parametrize("kind", ["RayJob", "RayService"])
def test_the_workers_of_one_that_runs_are_those_of_its_cluster(kind: str) -> None:
    assert counts(seen(kind, made(kind)))["crew"] == 2
    observation = seen(kind, made(kind, beside=[cluster(5, generation=3)]))
    assert counts(observation)["crew"] == 5
    assert observation.elastic
    assert observation.state.size_version > observation.state.generation


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("replicas", "least", "crew"), [(0, 9, 18), (3, 2, 6), (None, 4, 8)])
def test_the_workers_that_run_in_any_case_count(
    kind: str, replicas: int | None, least: int, crew: int
) -> None:
    obj = made(kind, runs=False)
    spec = obj["spec"].get(f"rayCluster{'Spec' if kind == 'RayJob' else 'Config'}", obj["spec"])
    spec["workerGroupSpecs"][0] |= {
        "replicas": replicas,
        "minReplicas": least,
        "numOfHosts": 2,
    }
    assert counts(seen(kind, obj))["crew"] == crew


@pytest.mark.parametrize("kind", ["RayJob", "RayService"])
def test_its_cluster_is_looked_for_while_it_may_run(kind: str) -> None:
    assert KINDS[kind].referred_paths(made(kind)) == (PATH,)
    assert KINDS[kind].referred_paths(made(kind, runs=False)) == ()
    fixed = made(kind)
    fixed["metadata"]["annotations"] = {}
    assert KINDS[kind].referred_paths(fixed) == ()


@pytest.mark.parametrize("annotations", [{}, made("RayJob")["metadata"]["annotations"]])
def test_the_cluster_of_a_ray_job_that_has_ended_is_looked_for(annotations: Object) -> None:
    over = made("RayJob")
    over["metadata"]["annotations"] = annotations
    over["status"] = {**over["status"], "jobDeploymentStatus": "Complete"}
    assert ray_job.KIND.referred_paths(over) == (PATH,)


def test_no_name_leads_out_of_the_namespace() -> None:
    obj = made("RayJob")
    obj["status"] = {**obj["status"], "rayClusterName": "../../other/rayclusters/x"}
    assert ray_job.KIND.referred_paths(obj) == ()


def test_a_cluster_that_follows_another_counts_more_than_any_change_of_that() -> None:
    later = "2026-03-01T08:00:01Z"
    first = ray_job.KIND.size_version(made("RayJob", beside=[cluster(1, 900)]))
    assert first < ray_job.KIND.size_version(made("RayJob", beside=[cluster(1, 901)]))
    assert first < ray_job.KIND.size_version(made("RayJob", beside=[cluster(1, 1, later)]))
    assert ray_job.KIND.size_version(made("RayJob")) == 0


@pytest.mark.parametrize(("kind", "active"), [("RayCluster", 4), ("RayJob", 5), ("RayService", 4)])
def test_workers_that_are_there_count_though_none_is_asked_for(kind: str, active: int) -> None:
    assert seen(kind, made(kind, beside=[cluster(0, 2)])).state.active == active


def order(kind: str, uid: str = "u1") -> Start:
    given = tuple(
        PodSetStart(name=podset.name, count=podset.count, node_selector={"tide": "spring"})
        for podset in seen(kind, made(kind, runs=False)).podsets
    )
    job = ObjectRef(kind=KINDS[kind].name, namespace="team", name="train", uid=uid)
    decision = StartOrdered(at_us=1, workload="team/w", job=job, podsets=given)
    return Start(order=decision, ledger_id="L1", seq=5)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_pod_waits_behind_the_gate_and_says_whose_it_is_until_a_stop(kind: str) -> None:
    before = made(kind, runs=False)
    started = carried_out(KINDS[kind], before, order(kind))
    given = [str(template) for template in _templates(started["spec"])]
    assert len(given) == (3 if kind == "RayJob" else 2)
    assert all(ELASTIC in text and "'tidegate.dev/elastic': 'u1'" in text for text in given)
    stop = StopOrdered(at_us=2, workload="team/w", job=order(kind).order.job)
    stopped = carried_out(KINDS[kind], started, Stop(order=stop, ledger_id="L1", seq=7))
    assert stopped["spec"] == before["spec"]


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_slice_that_takes_over_changes_nothing_but_the_mark(kind: str) -> None:
    started = carried_out(KINDS[kind], made(kind, runs=False), order(kind))
    again = Start(order=order(kind).order, ledger_id="L1", seq=9)
    step = KINDS[kind].start(again, started)
    assert isinstance(step, Patch)
    assert step.body == {"metadata": {"annotations": {"tidegate.dev/decision": "L1/9"}}}


def _templates(obj: object) -> list[Object]:
    """Return every pod template in a spec."""
    if isinstance(obj, list):
        return [template for item in obj for template in _templates(item)]
    if not isinstance(obj, dict):
        return []
    if "containers" in obj.get("spec", {}):
        return [obj]
    return [template for item in obj.values() for template in _templates(item)]


def test_a_cluster_without_a_creation_time_counts_as_old() -> None:
    kind = KINDS["RayJob"]
    fields = {**made("RayJob", beside=[cluster(3, 2, created="yesterday")])}
    assert kind.size_version(fields) == kind.size_version({**fields, "beside": [cluster(3, 2)]})
    assert kind.size_version(made("RayJob")) == 0


@pytest.mark.parametrize("kind", list(KINDS))
def test_one_that_runs_tells_if_a_template_has_lost_the_gate(kind: str) -> None:
    obj = carried_out(KINDS[kind], made(kind, runs=False), order(kind))
    assert not seen(kind, obj).ungated
    del _templates(obj["spec"])[-1]["spec"]["schedulingGates"]
    assert seen(kind, obj).ungated
