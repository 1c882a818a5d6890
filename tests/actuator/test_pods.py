"""Pods that Kueue guards with its finalizer are let go when they are over."""

from __future__ import annotations

import pytest

from tests.actuator.scene import LISTED, Scene
from tests.parts.foreign import pods_template
from tests.parts.stage import Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import StopOrdered
from tidegate.contracts.facts import WorkloadFinished, WorkloadRemoved, WorkloadSubmitted
from tidegate.jobs.pods.grouping import group_uid
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

PODS = "/api/v1/namespaces/default/pods"
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
        async with alongside(scene.actuator().run()):
            await scene.write(stop)
            await eventually(lambda: len(event_rows(scene)) == 2)
        assert event_rows(scene) == [("one", "Stopped", "why"), ("two", "Stopped", "why")]

    run_virtually(run())


def event_rows(scene: Scene) -> list[tuple[str, str, str]]:
    items = scene.read("/api/v1/namespaces/default/events")["items"]
    return sorted(
        (event["involvedObject"]["name"], event["reason"], event["message"]) for event in items
    )
