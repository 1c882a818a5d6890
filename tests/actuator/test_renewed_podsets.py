"""A job that asks for other pods, or for another queue: its Workload follows without quota."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tests.actuator.story import ASSIGNED, AT_US, QUEUES, Story
from tests.parts.stage import JOBS, KUEUE, Object, alongside, eventually, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import QuotaReleased, WorkloadEvicted
from tidegate.contracts.facts import Event, WorkloadAdopted, WorkloadChanged
from tidegate.jobs.job_metadata import workload_key
from tidegate.model.podset import PodSet

JOB = f"{JOBS}/train"
SENSELESS = {
    "kueue.x-k8s.io/podset-slice-required-topology": "rack",
    "kueue.x-k8s.io/podset-slice-size": "many",
}


class Growing(Story):
    """A story of a Job with work for nine pods, of which one runs at a time."""

    def submit(self) -> None:
        """See ``Story.submit``."""
        self.made = self.make(JOBS, job(parallelism=1, completions=9))
        self.uid = str(self.made["metadata"]["uid"])
        self.key = workload_key("Job", "batch", "default", "train", self.uid)


def changed(story: Story, count: int) -> WorkloadChanged:
    """Let the Job have so many pods, and return what ingest and core say of that."""
    story.change(JOB, {"spec": {"parallelism": count}})
    podset = PodSet(name="main", count=count)
    return WorkloadChanged(at_us=AT_US, workload=story.key, queue="main", podsets=(podset,))


def podsets(story: Story) -> list[Object]:
    written: list[Object] = (story.shows() or {}).get("spec", {}).get("podSets", [])
    return written


def counts(story: Story) -> list[int]:
    return [podset["count"] for podset in podsets(story)]


def test_a_workload_that_waits_gets_its_jobs_podsets_and_no_other_change_costs_a_read() -> None:
    async def run() -> None:
        story = Growing()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            await eventually(lambda: counts(story) == [1])
            event = changed(story, 3)
            await story.write(event)
            await eventually(lambda: counts(story) == [3])
            read = len(story.api.requests)
            await story.write(replace(event, max_execution_s=60))
            await eventually(lambda: limit(story) == 60)
            since = story.api.requests[read:]
        assert ("GET", JOB) not in since

    run_virtually(run())


def test_a_job_that_cannot_be_read_keeps_its_workload_from_no_other_change() -> None:
    async def run() -> None:
        story = Growing()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            await eventually(lambda: counts(story) == [1])
            event = changed(story, 3)
            story.change(JOB, {"spec": {"template": {"metadata": {"annotations": SENSELESS}}}})
            await story.write(replace(event, max_execution_s=60))
            await eventually(lambda: limit(story) == 60)
            assert counts(story) == [1]

    run_virtually(run())


def test_one_with_quota_keeps_its_podsets_until_that_is_released() -> None:
    async def run() -> None:
        story = Growing()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            await story.write(changed(story, 3))
            await asyncio.sleep(10)
            before = counts(story)
            await story.write(*left(story), story.reserved(), story.admitted())
            await eventually(lambda: counts(story) == [3])
            await eventually(lambda: story.condition("Admitted")[0] == "True")
        assert before == [1]

    run_virtually(run())


def test_one_that_left_for_another_queue_loses_its_reservation_before_its_queue_changes() -> None:
    async def run() -> None:
        story = Growing()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            written = len(story.api.requests)
            moved = WorkloadChanged(at_us=AT_US, workload=story.key, queue="other")
            await story.write(moved, *left(story))
            await eventually(lambda: story.condition("QuotaReserved")[0] == "False")
            await eventually(lambda: (story.shows() or {})["spec"]["queueName"] == "other")
            since = story.api.requests[written:]
        patches = [path for method, path in since if method == "PATCH" and story.path in path]
        assert patches[:2] == [f"{story.path}/status", story.path]

    run_virtually(run())


class Left(Growing):
    """A story of a Job that Kueue started, and of the Workload that it left."""

    def submit(self) -> None:
        """See ``Story.submit``."""
        super().submit()
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": self.uid}
        meta = {"name": self.key.partition("/")[2], "namespace": "default"}
        made = kueue("Workload", meta["name"], queueName="main", podSets=[self.podset()])
        made["metadata"] |= meta | {"ownerReferences": [{**owner, "controller": True}]}
        self.make(f"{KUEUE}/namespaces/default/workloads", made)
        self.change(JOB, {"spec": {"template": {"spec": {"nodeSelector": {"pool": "spot"}}}}})
        self.change(JOB, {"spec": {"suspend": False}})

    def podset(self) -> Object:
        """Return its podset as the Job was made."""
        return {"name": "main", "count": 1, "template": self.made["spec"]["template"]}


def test_one_that_is_adopted_keeps_what_it_was_admitted_with() -> None:
    async def run() -> None:
        story = Left()
        async with alongside(story.actuator(projects=True).run()):
            podset = PodSet(name="main", count=1)
            other = WorkloadChanged(
                at_us=AT_US, workload=story.key, queue="main", podsets=(podset,), max_execution_s=60
            )
            adopted = WorkloadAdopted(
                at_us=AT_US, workload=story.key, cluster_queue="cq", assignment=(ASSIGNED,)
            )
            await story.write(*QUEUES, story.submitted(), other, adopted)
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            await eventually(lambda: limit(story) == 60)
        (shown,) = podsets(story)
        assert "nodeSelector" not in shown["template"]["spec"]

    run_virtually(run())


def limit(story: Story) -> int | None:
    seconds: int | None = (story.shows() or {})["spec"].get("maximumExecutionTimeSeconds")
    return seconds


def left(story: Story) -> tuple[Event, ...]:
    """Return that the job was stopped for asking for others, and that its quota is free."""
    reason = "NoMatchingWorkload"
    return (
        WorkloadEvicted(at_us=AT_US, workload=story.key, cluster_queue="cq", reason=reason),
        QuotaReleased(at_us=AT_US, workload=story.key, cluster_queue="cq", reason=reason),
    )
