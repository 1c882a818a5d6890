"""Kueue's metrics of Workloads made and gates removed, as the active actuator has them."""

from __future__ import annotations

import asyncio
import re
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest

from actuator.calls import Calls
from actuator.kueue_metrics import KueueMetrics
from actuator.metrics import Metrics
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import PodUngater
from actuator.ungating.topology import TopologyPods
from tests.actuator.placing import Placing, assigned
from tests.actuator.scene import LISTED, Scene
from tests.actuator.story import AT_US, QUEUES, SECOND_US, Story
from tests.actuator.test_elastic import Elastic
from tests.actuator.test_kept_pods import Crew, held
from tests.actuator.test_pods import PODS, guarded
from tests.parts.stage import JOBS, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import PodSetStart, QuotaReserved, StartOrdered, WorkloadAdmitted
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved
from tidegate.contracts.facts import Event, WorkloadSubmitted
from tidegate.jobs.registry import job_kind
from tidegate.kinds.names import ADMISSION_GATE, ELASTIC_JOB, TOPOLOGY_GATE
from tidegate.model.ids import ObjectRef

CREATION = "kueue_workload_creation_latency_seconds"
REMOVAL = "kueue_pod_scheduling_gate_removal_seconds"
KEY, US = "default/train", 250_000
BATCH_JOB = job_kind("batch/job")


def now_us() -> int:
    """Return a time 250 ms after the admissions of this module."""
    return AT_US + SECOND_US + US


def removals(registry: CollectorRegistry, gate: str, is_group: str) -> tuple[float, float]:
    """Return how many gates were removed, and after how long together; of one ClusterQueue."""
    labels = {"name": gate, "cluster_queue": "cq", "is_group": is_group}
    values = [registry.get_sample_value(f"{REMOVAL}_{part}", labels) for part in ("count", "sum")]
    return values[0] or 0, values[1] or 0


def series(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if line.startswith("kueue_")]


def counting(registry: CollectorRegistry) -> KueueMetrics:
    """Return the metrics of an active actuator that knows one admitted workload."""
    kueue, read_model = KueueMetrics(registry, now_us), ReadModel()
    for event in QUEUES:
        read_model.apply_event(event, "L1/1")
    job = ObjectRef(kind="batch/job", namespace="default", name="train", uid="u")
    view = WorkloadView(key=KEY, uid="u", job=job, phase="admitted", cluster_queue="cq")
    view.set("Admitted", true=True, reason="r", message="m", at_us=AT_US + SECOND_US)
    view.admitted_us = AT_US + SECOND_US
    read_model.workloads[KEY] = view
    kueue.read_model = lambda: read_model
    kueue.set_active(True)
    return kueue


def admission(key: str, uid: str, job: ObjectRef) -> list[Event]:
    about: dict[str, Any] = {"workload": key, "uid": uid}
    at_us = AT_US + SECOND_US
    return [
        *QUEUES,
        WorkloadSubmitted(at_us=AT_US, job=job, queue="main", **about),
        QuotaReserved(at_us=at_us, cluster_queue="cq", assignment=(), **about),
        WorkloadAdmitted(at_us=at_us, cluster_queue="cq", **about),
    ]


def test_a_workload_that_is_made_of_a_new_job_is_counted_by_its_kind() -> None:
    async def run() -> None:
        story, registry = Story(), CollectorRegistry()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True, registry=registry).run()):
            await eventually(lambda: story.shows() is not None)
            labels = {"job_kind": "Job", "replica_role": "leader"}
            assert registry.get_sample_value(f"{CREATION}_count", labels) == 1

    run_virtually(run())


def test_a_workload_of_a_job_that_was_changed_before_is_not_counted() -> None:
    async def run() -> None:
        story, registry = Story(), CollectorRegistry()
        story.change(f"{JOBS}/train", {"spec": {"parallelism": 2}})
        assert story.job()["metadata"]["generation"] == 2
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True, registry=registry).run()):
            await eventually(lambda: story.shows() is not None)
            await asyncio.sleep(1)  # until what was made is counted; its end clears all series
            assert series(registry) == []

    run_virtually(run())


def test_a_creation_takes_from_the_jobs_to_the_workloads_time_in_kueues_buckets() -> None:
    registry = CollectorRegistry()
    at = {"creationTimestamp": "2026-03-01T08:00:00Z"}
    later = {"creationTimestamp": "2026-03-01T08:00:03Z"}
    counting(registry).observe_creation(BATCH_JOB, {"metadata": at}, {"metadata": later})
    labels = {"job_kind": "Job", "replica_role": "leader"}
    assert registry.get_sample_value(f"{CREATION}_sum", labels) == 3
    bounds = re.findall(r'\ble="([^"]+)"', "".join(series(registry)))
    doubled = "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 +Inf"
    assert bounds == doubled.split()


def test_without_its_gate_there_is_no_creation_latency() -> None:
    registry = CollectorRegistry()
    kueue = KueueMetrics(registry, creations=False)
    kueue.set_active(True)
    meta = {"metadata": {"creationTimestamp": "2026-03-01T08:00:00Z"}}
    kueue.observe_creation(BATCH_JOB, meta, meta)
    assert CREATION not in generate_latest(registry).decode()
    assert REMOVAL in generate_latest(registry).decode()


def test_each_pod_of_a_group_is_measured_from_the_admission_on() -> None:
    async def run() -> None:
        crew, registry = Crew(), CollectorRegistry()
        session = crew.scene.actuator(projects=True, registry=registry, now_us=now_us)
        async with alongside(session.run()):
            await crew.scene.write(*admission("default/crew", crew.job.uid, crew.job))
            await crew.scene.write(crew.started())
            await eventually(lambda: not any(map(held, crew.scene.read(PODS)["items"])))
            await eventually(lambda: removals(registry, ADMISSION_GATE, "true") == (2, 0.5))

    run_virtually(run())


def test_a_pod_of_its_own_is_measured_and_an_actuator_that_stopped_has_no_series() -> None:
    async def run() -> None:
        scene, registry = Scene(with_crds=True), CollectorRegistry()
        made = guarded("one")
        made["spec"]["schedulingGates"] = [{"name": ADMISSION_GATE}]
        uid = scene.make(PODS, made)["metadata"]["uid"]
        job = ObjectRef(kind="pod", namespace="default", name="one", uid=uid)
        session = scene.actuator(projects=True, registry=registry, now_us=now_us)
        async with alongside(session.run()):
            await scene.write(LISTED, *admission("default/one", uid, job))
            given = (PodSetStart(name="main", count=1),)
            await scene.write(
                StartOrdered(at_us=AT_US, workload="default/one", uid=uid, job=job, podsets=given)
            )
            await eventually(lambda: removals(registry, ADMISSION_GATE, "false") == (1, 0.25))
            session.consumer.activate(False)  # noqa: FBT003 - a state
            assert series(registry) == []

    run_virtually(run())


def test_a_pod_that_gets_its_domain_is_measured_once() -> None:
    async def run() -> None:
        stage, registry = Placing(assigned(a=1)), CollectorRegistry()
        await stage.end()
        kueue = counting(registry)
        rule = TopologyPods(lambda: stage.read_model)
        lets_go = PodUngater(Calls(stage.api, Metrics(CollectorRegistry())), Random(3), rule, kueue)
        lets_go.set_active(working=True)
        stage.pod("p0", 0)
        async with alongside(lets_go.run()):
            await eventually(lambda: stage.hosts() == {"p0": "a"})
            await eventually(lambda: removals(registry, TOPOLOGY_GATE, "false") == (1, 0.25))

    run_virtually(run())


def test_a_pod_of_an_elastic_job_is_measured_by_the_workload_that_was_granted_it() -> None:
    async def run() -> None:
        stage, registry = Elastic(), CollectorRegistry()
        kueue = counting(registry)
        lets_go = PodUngater(stage.calls, Random(3), ElasticPods(), kueue)
        lets_go.set_active(working=True)
        for name in ("a", "b"):
            stage.pod(name)
        stage.workload("train", 1, "Admitted")
        async with alongside(lets_go.run()):
            await eventually(lambda: stage.let_go() == ["a"])
            await eventually(lambda: removals(registry, ELASTIC_JOB, "false") == (1, 0.25))

    run_virtually(run())


def test_series_end_with_their_cluster_queue_and_none_begins_after_it() -> None:
    registry = CollectorRegistry()
    kueue = counting(registry)
    kueue.observe_gate_removal(TOPOLOGY_GATE, KEY, of_group=False)
    assert removals(registry, TOPOLOGY_GATE, "false") == (1, 0.25)
    gone = ClusterQueueRemoved(at_us=AT_US, name="cq")
    kueue.on_event(Published("L1", 9, "", b""), gone, live=True)
    assert series(registry) == []
    kueue.read_model().apply_event(gone, "L1/9")
    kueue.observe_gate_removal(TOPOLOGY_GATE, KEY, of_group=False)
    assert series(registry) == []


@pytest.mark.parametrize("case", ["inactive", "unknown", "evicted"])
def test_nothing_is_measured_without_an_admission_that_is_ours(case: str) -> None:
    registry = CollectorRegistry()
    kueue = counting(registry)
    if case == "inactive":
        kueue.set_active(False)
    if case == "evicted":
        kueue.read_model().workloads[KEY].end("Admitted", reason="r", at_us=AT_US)
    kueue.observe_gate_removal(
        TOPOLOGY_GATE, "default/other" if case == "unknown" else KEY, of_group=False
    )
    assert series(registry) == []


def test_an_admission_that_was_read_back_counts_by_its_condition() -> None:
    registry = CollectorRegistry()
    kueue = counting(registry)
    kueue.read_model().workloads[KEY] = replace(kueue.read_model().workloads[KEY], admitted_us=0)
    kueue.observe_gate_removal(TOPOLOGY_GATE, KEY, of_group=True)
    assert removals(registry, TOPOLOGY_GATE, "true") == (1, 0.25)
