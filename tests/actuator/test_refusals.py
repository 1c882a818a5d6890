"""What cannot be read is reported on the object itself."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from actuator.projection.stray_events import refusal_event
from actuator.writing.event_recorder import LASTS_US
from tests.actuator.story import AT_US, Story
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.fact_kinds.reception import ObservationRefused
from tidegate.contracts.subjects import observed_subject

US = 1_772_352_000_000_000


def refused(resource: str, namespace: str = "team", name: str = "a.b") -> ObservationRefused:
    subject = observed_subject("local", resource, namespace, name)
    return ObservationRefused(at_us=US, subject=subject, digest="d", error="no podsets", uid="u1")


def test_a_refused_job_has_an_event_that_says_why() -> None:
    obj = refusal_event(refused("jobsets.jobset.x-k8s.io"), 255)
    assert obj is not None
    assert obj["metadata"] == {"namespace": "team", "name": "a.b.ff.r"}
    assert obj["involvedObject"] == {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "namespace": "team",
        "name": "a.b",
        "uid": "u1",
    }
    assert (obj["type"], obj["reason"], obj["message"]) == (
        "Warning",
        "Unreadable",
        "no podsets",
    )


@pytest.mark.parametrize(
    "event",
    [
        refused("clusterqueues.kueue.x-k8s.io", ""),
        refused("jobs.batch", name=""),
        ObservationRefused(at_us=US, subject="noise", digest="d", error="e", uid="u1"),
    ],
)
def test_what_is_no_job_is_named_in_the_ledger_alone(event: ObservationRefused) -> None:
    assert refusal_event(event, 1) is None


def test_what_was_refused_while_no_replica_was_active_is_shown_once_and_only_while_it_is_news() -> (
    None
):
    async def run() -> None:
        story = Story()
        late = refused("jobs.batch", "default", "late")
        old = msgspec.structs.replace(late, at_us=AT_US - LASTS_US)
        await story.write(old, late)
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.events() != [])
            await story.write(refused("jobs.batch", "default", "now"))
            await eventually(lambda: len(story.events()) == 2)
        async with alongside(story.actuator("heir", projects=True).run()):
            await asyncio.sleep(60)
        assert story.events() == [("Job", "Unreadable")] * 2

    run_virtually(run())
