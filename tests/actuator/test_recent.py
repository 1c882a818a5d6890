"""What the actuator wrote a moment ago is not read again; what is remembered is bounded."""

from __future__ import annotations

import asyncio

from actuator.calls import BYTES_MAX, LASTS_S, RecentWrites
from tests.actuator.scene import start
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.stage import JOBS, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import WorkloadRemoved

MEBIBYTE = 1 << 20


def test_an_object_is_remembered_for_a_while_as_it_was_written_last() -> None:
    recent = RecentWrites()
    recent.put("a", b"1", now_s=0.0)
    recent.put("a", b"2", now_s=1.0)
    assert recent.get("a", LASTS_S) == b"2"
    assert not recent.get("a", LASTS_S + 2)
    recent.drop("a")
    assert not recent.get("a", 1.0)


def test_large_objects_push_the_oldest_ones_out() -> None:
    recent, count, written = RecentWrites(), BYTES_MAX // MEBIBYTE, bytes(MEBIBYTE)
    for number in range(count + 1):
        recent.put(f"w{number}", written, now_s=0.0)
    kept = [number for number in range(count + 1) if recent.get(f"w{number}", 0.0)]
    assert kept == list(range(1, count + 1))
    recent.put("huge", bytes(BYTES_MAX + 1), now_s=0.0)
    assert [recent.get(f"w{number}", 0.0) for number in kept] == [b""] * count


def test_a_job_is_read_once_for_its_start_and_its_workload() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await asyncio.sleep(60)  # it is the active one, and all is compared
            story.api.requests.clear()
            events = story.submitted(), story.reserved(), story.admitted(), start(story.made)
            await story.write(*QUEUES, *events)
            await eventually(lambda: story.condition("Admitted")[0] == "True")
        reads = [path for method, path in story.api.requests if method == "GET"]
        assert reads.count(f"{JOBS}/train") <= 1
        assert story.path not in reads

    run_virtually(run())


def test_a_job_behind_a_namesake_that_was_just_started_is_shown() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await story.write(start(story.made))
            await eventually(lambda: story.decision() != "")  # so the Job is remembered
            story.remove(f"{JOBS}/train")
            gone = WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid)
            story.submit()
            await story.write(gone, story.submitted())
            await eventually(lambda: story.shows() is not None)

    run_virtually(run())
