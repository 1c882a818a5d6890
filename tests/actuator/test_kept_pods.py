"""Pods of a group that a stop deletes are kept until others replace them, and by nothing longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.actuator.scene import LISTED, Scene
from tests.actuator.test_pods import GUARD, PODS, US, member
from tests.parts.stage import KUEUE, Object, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.facts import (
    Event,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.jobs.pods.grouping import group_uid
from tidegate.jobs.pods.pod_roles import role
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

CREW = f"{KUEUE}/namespaces/default/workloads/crew"
NAME = "default/crew"


class Crew:
    """A group of two pods that runs."""

    def __init__(self) -> None:
        self.scene = Scene(with_crds=True)
        made = [self.make(name) for name in ("one", "two")]
        uid = group_uid([read(pod, Pod) for pod in made])
        self.role = role(read(made[0], Pod))
        self.job = ObjectRef(kind="pod-group", namespace="default", name="crew", uid=uid)

    def make(self, name: str) -> Object:
        obj = member(name)
        del obj["metadata"]["finalizers"]
        obj["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
        obj["metadata"]["annotations"] |= {"simulate/seconds": "100000"}
        return self.scene.make(PODS, obj)

    @property
    def there(self) -> dict[str, bool]:
        """Return the pods that there are, and whether each is kept."""
        items = self.scene.read(PODS)["items"]
        return {
            obj["metadata"]["name"]: "deletionTimestamp" in obj["metadata"]
            and GUARD in obj["metadata"].get("finalizers", ())
            for obj in items
        }

    @property
    def workload(self) -> Object:
        value = self.scene.read(f"{KUEUE}/namespaces/default/workloads")["items"]
        return next((obj for obj in value if obj["metadata"]["name"] == "crew"), {})

    def submitted(self) -> Event:
        return WorkloadSubmitted(
            at_us=US, workload=NAME, uid=self.job.uid, job=self.job, queue="main"
        )

    def started(self) -> Event:
        given = (PodSetStart(name=self.role, count=2),)
        return StartOrdered(at_us=US, workload=NAME, uid=self.job.uid, job=self.job, podsets=given)

    def stopped(self) -> Event:
        return StopOrdered(
            at_us=US, workload=NAME, uid=self.job.uid, job=self.job, reason="Preempted"
        )


async def kept(crew: Crew) -> None:
    """Start a group and stop it."""
    await crew.scene.write(crew.submitted(), crew.started())
    await eventually(lambda: not any(held(pod) for pod in crew.scene.read(PODS)["items"]))
    await eventually(lambda: bool(crew.workload))
    await crew.scene.write(crew.stopped())
    await eventually(lambda: crew.there == {"one": True, "two": True})


def held(obj: Object) -> bool:
    return bool(obj["spec"].get("schedulingGates"))


def test_a_workload_outlives_a_stop_and_belongs_to_the_pods_that_come_then() -> None:
    async def run() -> None:
        crew = Crew()
        async with alongside(crew.scene.actuator(projects=True).run()):
            await kept(crew)
            before = crew.workload["metadata"]["uid"]
            made = [crew.make(name) for name in ("three", "four")]
            await crew.scene.write(crew.started())
            await eventually(lambda: crew.there == {"three": False, "four": False})
        owners = [reference["uid"] for reference in crew.workload["metadata"]["ownerReferences"]]
        assert {obj["metadata"]["uid"] for obj in made} == set(owners[2:])
        assert crew.workload["metadata"]["uid"] == before

    run_virtually(run())


def finished(crew: Crew) -> Event:
    return WorkloadFinished(at_us=US, workload=NAME, uid=crew.job.uid)


def removed(crew: Crew) -> Event:
    return WorkloadRemoved(at_us=US, workload=NAME, uid=crew.job.uid)


def unwatched(crew: Crew) -> Event:
    return WorkloadRemoved(at_us=US, workload=NAME, uid=crew.job.uid, reason="NotWatched")


@pytest.mark.parametrize("end", [finished, removed, unwatched])
def test_they_go_when_their_group_is_over(end: Callable[[Crew], Event]) -> None:
    async def run() -> None:
        crew = Crew()
        async with alongside(crew.scene.actuator(projects=True).run()):
            await kept(crew)
            await crew.scene.write(end(crew))
            await eventually(lambda: crew.there == {})

    run_virtually(run())


def test_they_go_when_a_user_deletes_their_workload() -> None:
    async def run() -> None:
        crew = Crew()
        async with alongside(crew.scene.actuator(projects=True).run()):
            await kept(crew)
            crew.scene.remove(CREW)
            await eventually(lambda: crew.there == {})
        assert crew.workload == {}

    run_virtually(run())


def test_they_go_when_their_workload_was_deleted_while_no_actuator_was_there() -> None:
    async def run() -> None:
        crew = Crew()
        async with alongside(crew.scene.actuator(projects=True).run()):
            await kept(crew)
        crew.scene.remove(CREW)
        async with alongside(crew.scene.actuator("a2", projects=True).run()):
            await eventually(lambda: crew.there == {})

    run_virtually(run())


def test_no_pod_is_gated_that_would_never_be_ungated() -> None:
    async def run() -> None:
        crew = Crew()
        async with alongside(crew.scene.actuator().run()):
            await crew.scene.write(crew.submitted(), crew.started())
            await eventually(lambda: not any(map(held, crew.scene.read(PODS)["items"])))
            await crew.scene.write(crew.stopped())
            await eventually(lambda: crew.there == {})

    run_virtually(run())


def test_a_workload_says_that_it_waits_for_replacements() -> None:
    async def run() -> None:
        crew = Crew()
        changed = WorkloadChanged(at_us=US, workload=NAME, uid=crew.job.uid, queue="main")
        lacking = WorkloadChanged(
            at_us=US, workload=NAME, uid=crew.job.uid, queue="main", gates=(INCOMPLETE,)
        )
        async with alongside(crew.scene.actuator(projects=True).run()):
            await crew.scene.write(LISTED, crew.submitted(), lacking)
            await eventually(lambda: waits(crew) == ("True", "PodsFailed"))
            await crew.scene.write(changed)
            await eventually(lambda: waits(crew) == ("False", "PodsReady"))

    run_virtually(run())


def waits(crew: Crew) -> tuple[str, str] | None:
    current_conditions = crew.workload.get("status", {}).get("conditions", ())
    values = (
        condition
        for condition in current_conditions
        if condition["type"] == "WaitingForReplacementPods"
    )
    return next(((condition["status"], condition["reason"]) for condition in values), None)
