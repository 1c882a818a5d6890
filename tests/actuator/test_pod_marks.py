"""What the pods of every job are given as it starts, wherever they are placed."""

from __future__ import annotations

from msgspec.structs import replace

from tests.actuator.scene import Scene, start, stop
from tests.parts.stage import Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.pods.grouping import group_uid
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.decode import read
from tidegate.kinds.names import POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT, WORKLOAD
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

PODS = "/api/v1/namespaces/default/pods"


def marks_of(template: Object) -> dict[str, str]:
    marks: dict[str, str] = template.get("metadata", {}).get("annotations", {})
    return marks


def test_a_started_jobs_template_names_its_workload_until_it_is_stopped() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.running_job()
        before = made["spec"]["template"]
        async with alongside(scene.actuator().run()):
            await scene.write(start(made))
            await eventually(lambda: scene.job()["spec"]["suspend"] is False)
            named = marks_of(scene.job()["spec"]["template"])[WORKLOAD]
            await scene.write(stop(made))
            await eventually(lambda: scene.job()["spec"]["template"] == before)
        assert named == "job-train"

    run_virtually(run())


def member(name: str) -> Object:
    labels = {"kueue.x-k8s.io/queue-name": "main", POD_GROUP_NAME: "crew"}
    labels["kueue.x-k8s.io/managed"] = "true"
    marks = {POD_GROUP_TOTAL_COUNT: "2"}
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": gates}
    return {"metadata": {"name": name, "labels": labels, "annotations": marks}, "spec": spec}


def test_so_do_the_pods_of_a_group() -> None:
    async def run() -> None:
        scene = Scene(with_crds=True)
        made = [scene.make(PODS, member(name)) for name in ("one", "two")]
        uid = group_uid([read(pod, Pod) for pod in made])
        (role,) = JOB_KINDS["pod-group"].podsets({"items": made})
        order = replace(
            start(made[0]),
            workload="default/crew",
            uid=uid,
            job=ObjectRef(kind="pod-group", namespace="default", name="crew", uid=uid),
            podsets=(PodSetStart(name=role["name"], count=2),),
        )
        async with alongside(scene.actuator().run()):
            await scene.write(order)
            await eventually(lambda: named(scene) == ["crew", "crew"])

    run_virtually(run())


def named(scene: Scene) -> list[str | None]:
    pods = [scene.read(f"{PODS}/{name}") for name in ("one", "two")]
    return [marks_of(pod).get(WORKLOAD) for pod in pods]
