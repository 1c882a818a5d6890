"""Pods that Kueue guards with its finalizer are let go when they are over."""

from __future__ import annotations

import pytest

from tests.actuator.scene import LISTED, Scene
from tests.parts.foreign import pods_template
from tests.parts.stage import Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decision_kinds.placements import PodSetStart
from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.contracts.facts import WorkloadFinished, WorkloadRemoved, WorkloadSubmitted
from tidegate.jobs.pods.grouping import group_uid
from tidegate.jobs.pods.pod_roles import role
from tidegate.kinds.decode import read
from tidegate.kinds.names import ADMISSION_GATE, PREBUILT_WORKLOAD
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
KIND = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
GUARD, GROUP = "kueue.x-k8s.io/managed", "kueue.x-k8s.io/pod-group-name"
US = 1_772_352_000_000_000


def guarded(name: str) -> Object:
    labels = {GUARD: "true", GROUP: "crew"}
    metadata = {"name": name, "labels": labels, "finalizers": [GUARD, "example.com/mine"]}
    return {"metadata": metadata, "spec": pods_template()["spec"]}


@pytest.mark.parametrize("end", [WorkloadFinished, WorkloadRemoved])
@pytest.mark.parametrize("kind", ["pod", "pod-group"])
def test_kueues_finalizer_goes_when_a_pod_or_its_group_is_over(
    kind: str, end: type[WorkloadFinished | WorkloadRemoved]
) -> None:
    async def run() -> None:
        scene = Scene(with_crds=True)
        uid = scene.make(PODS, guarded("one"))["metadata"]["uid"]
        name = "one" if kind == "pod" else "crew"
        job = ObjectRef(kind=kind, namespace="default", name=name, uid=uid)
        event = WorkloadSubmitted(at_us=US, workload="default/w", uid=uid, job=job, queue="main")
        async with alongside(scene.actuator(projects=True).run()):
            await scene.write(LISTED, event)
            await scene.write(end(at_us=US, workload="default/w", uid=uid))
            await eventually(lambda: finalizers(scene) == ["example.com/mine"])

    run_virtually(run())


def finalizers(scene: Scene) -> list[str]:
    names: list[str] = scene.read(f"{PODS}/one")["metadata"]["finalizers"]
    return names


def member(name: str) -> Object:
    obj = guarded(name)
    obj["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    obj["metadata"]["labels"] |= {"kueue.x-k8s.io/queue-name": "main"}
    return obj


def test_each_pod_of_a_group_gets_the_reason_why_it_is_stopped() -> None:
    async def run() -> None:
        scene = Scene(with_crds=True)
        made = [scene.make(PODS, member(name)) for name in ("one", "two")]
        uid = group_uid([read(pod, Pod) for pod in made])
        job = ObjectRef(kind="pod-group", namespace="default", name="crew", uid=uid)
        stop = StopOrdered(
            at_us=US, workload="default/crew", uid=uid, job=job, reason="Preempted", message="why"
        )
        async with alongside(scene.actuator(projects=True).run()):
            await scene.write(stop)
            await eventually(lambda: len(event_rows(scene)) == 2)
        assert event_rows(scene) == [("one", "Stopped", "why"), ("two", "Stopped", "why")]

    run_virtually(run())


def test_each_pod_of_a_group_shows_its_start_or_that_it_is_one_too_many() -> None:
    async def run() -> None:
        scene = Scene(with_crds=True)
        made = [scene.make(PODS, waiting(name)) for name in ("a", "b", "c")]
        typed = [read(pod, Pod) for pod in made]
        async with alongside(scene.actuator(projects=True).run()):
            await scene.write(started(group_uid(typed), role(typed[0])))
            await eventually(lambda: len(event_rows(scene)) == 3)
        assert event_rows(scene) == [
            ("a", "Started", "Admitted by clusterQueue cq"),
            ("b", "Started", "Admitted by clusterQueue cq"),
            ("c", "ExcessPodDeleted", "Excess pod deleted"),
        ]

    run_virtually(run())


def test_a_workload_shows_how_many_pods_came_to_own_it() -> None:
    async def run() -> None:
        scene = Scene(with_crds=True)
        made = [scene.make(PODS, waiting(name, prebuilt="crew")) for name in ("one", "two")]
        typed = [read(pod, Pod) for pod in made]
        template = {"spec": made[0]["spec"]}
        podsets = [{"name": "main", "count": 2, "template": template}]
        scene.make(WORKLOADS, {**KIND, "metadata": {"name": "crew"}, "spec": {"podSets": podsets}})
        async with alongside(scene.actuator(projects=True).run()):
            await scene.write(started(group_uid(typed), role(typed[0])))
            await eventually(lambda: len(event_rows(scene)) == 3)
        assert event_rows(scene)[0] == (
            "crew",
            "OwnerReferencesAdded",
            "Added 2 owner reference(s)",
        )

    run_virtually(run())


def waiting(name: str, prebuilt: str = "") -> Object:
    obj = member(name)
    del obj["metadata"]["finalizers"]
    obj["metadata"]["creationTimestamp"] = "2026-03-01T10:00:00Z"
    obj["metadata"]["labels"] |= {PREBUILT_WORKLOAD: prebuilt} if prebuilt else {}
    obj["spec"] = {**obj["spec"], "schedulingGates": [{"name": ADMISSION_GATE}]}
    return obj


def started(uid: str, podset: str) -> StartOrdered:
    job = ObjectRef(kind="pod-group", namespace="default", name="crew", uid=uid)
    podsets = (PodSetStart(name=podset, count=2),)
    return StartOrdered(
        at_us=US, workload="default/crew", uid=uid, cluster_queue="cq", job=job, podsets=podsets
    )


def event_rows(scene: Scene) -> list[tuple[str, str, str]]:
    items = scene.read("/api/v1/namespaces/default/events")["items"]
    return sorted(
        (event["involvedObject"]["name"], event["reason"], event["message"]) for event in items
    )
