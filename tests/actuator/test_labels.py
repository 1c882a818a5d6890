"""Labels that the configuration has copied from jobs to their Workloads."""

from __future__ import annotations

from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.project import Projector
from actuator.projection.conditions import new_view
from actuator.projection.k8s_events import event_object, event_texts
from actuator.projection.objects import workload_object
from actuator.workqueue import Rate
from tests.actuator.story import QUEUES, Story
from tests.parts.stage import Object, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.model.ids import ObjectRef

KEYS = ("team", "cost", "missing")
JOB_UID = "kueue.x-k8s.io/job-uid"


def labels(kind: str, obj: Object) -> dict[str, str]:
    """Return the labels of the Workload that is made of a job."""
    about = ObjectRef(kind=kind, namespace="default", name="train", uid="u")
    event = WorkloadSubmitted(at_us=1, workload="default/w", uid="u", job=about, queue="main")
    made = workload_object(new_view(event), obj, JOB_KINDS[kind], {}, KEYS)
    told_labels: dict[str, str] = made["metadata"]["labels"]
    return told_labels


def pod(name: str, cost: str) -> Object:
    marks = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    named = {"team": "blue", "cost": cost, "kueue.x-k8s.io/pod-group-name": "train"}
    metadata = {"name": name, "uid": name, "labels": named, "annotations": marks}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}}


def test_a_workload_has_the_labels_of_its_job_that_are_copied_and_no_others() -> None:
    made = job()
    made["metadata"] |= {"uid": "u", "labels": {"team": "blue", "cost": "7", "other": "x"}}
    assert labels("batch/job", made) == {"team": "blue", "cost": "7", JOB_UID: "u"}


def test_a_group_gives_its_workload_the_labels_that_all_of_its_pods_agree_on() -> None:
    group = {"items": [pod("a", "7"), pod("b", "8")]}
    assert labels("pod-group", group) == {"team": "blue", JOB_UID: "u"}


@pytest.mark.parametrize(
    ("kind", "gvk", "name", "index"),
    [
        ("statefulset", "apps/v1, Kind=StatefulSet", "web", None),
        (
            "leaderworkerset.x-k8s.io/leaderworkerset",
            "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
            "web-1",
            "1",
        ),
    ],
)
def test_what_is_queued_through_pods_is_named_by_its_workload(
    kind: str, gvk: str, name: str, index: str | None
) -> None:
    about = ObjectRef(kind=kind, namespace="default", name=name, uid="u.1" if index else "u")
    event = WorkloadSubmitted(at_us=1, workload="default/w", uid=about.uid, job=about, queue="q")
    pods = {"containers": [{"name": "c"}]}
    spec = {"template": {"spec": pods}, "leaderWorkerTemplate": {"workerTemplate": {"spec": pods}}}
    obj = {"metadata": {"name": "web", "uid": "u"}, "spec": spec}
    marks = workload_object(new_view(event), obj, JOB_KINDS[kind], {})["metadata"]["annotations"]
    owner = marks[names.JOB_OWNER_GVK], marks[names.JOB_OWNER_NAME]
    assert (*owner, marks.get(names.COMPONENT_INDEX)) == (gvk, "web", index)


def test_the_projection_copies_the_configured_labels() -> None:
    async def run() -> None:
        story, metrics = Story(), Metrics(CollectorRegistry())
        actuator, queue = story.actuator(), "kueue.x-k8s.io/queue-name"
        calls = Calls(story.api, metrics)
        actuator.consumer.subscriber = Projector(calls, Random(3), metrics, Rate(), (queue,))
        await story.write(*QUEUES, story.submitted())
        async with alongside(actuator.run()):
            await eventually(lambda: story.shows() is not None)
        current_labels = story.read(story.path)["metadata"]["labels"]
        assert current_labels == {queue: "main", JOB_UID: story.uid}

    run_virtually(run())


def test_an_event_about_the_job_of_a_statefulset_is_about_the_statefulset() -> None:
    about = ObjectRef(kind="statefulset", namespace="default", name="web", uid="u")
    event = WorkloadSubmitted(at_us=1, workload="default/w", uid="u", job=about, queue="main")
    (text,) = event_texts(event)
    regarding = event_object(text, new_view(event), 1, 1)["involvedObject"]
    assert (text.reason, regarding["kind"], regarding["uid"]) == (
        "CreatedWorkload",
        "StatefulSet",
        "u",
    )
