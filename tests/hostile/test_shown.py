"""What is shown of any job, and an order that meets an unexpected error: others go on."""

from __future__ import annotations

import functools

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from actuator.projection import objects as shown_as
from actuator.projection.k8s_events import event_object, event_texts
from actuator.projection.read_model import ReadModel
from tests.actuator.scene import LEDGER, Scene, ref, start
from tests.actuator.story import QUEUES, Story
from tests.hostile.drawing import KINDS, objects
from tests.hostile.test_objects import observed
from tests.parts.drawn import drawn
from tests.parts.stage import JOBS, KUEUE, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tests.replay.world import World
from tidegate.cli.output import Column, Output, print_record, print_records
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import WorkloadFinished
from tidegate.contracts.observations import ActuationReported
from tidegate.core.accept import accept
from tidegate.core.decide import decide
from tidegate.core.folding import snapshot
from tidegate.errors import TidegateError
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kube.ports import Response
from tidegate.replay.story.sentences import sentence

SHOWN = [name for name, row in KINDS.items() if name in JOB_KINDS and not row[0].members]
"""Kinds that are one object, and that this process knows."""


@functools.cache
def opened() -> bytes:
    """Return the state of a world with a queue for everybody."""
    return snapshot.encode(World().open().bus.state)


@pytest.mark.parametrize("kind", SHOWN)
@drawn(15, (HealthCheck.too_slow, HealthCheck.data_too_large))
@given(data=st.data())
def test_any_job_that_is_observed_is_decided_and_shown(kind: str, data: st.DataObject) -> None:
    row, fields = KINDS[kind][0], data.draw(objects(kind))
    state, read_model = snapshot.decode(opened()), ReadModel()
    for observation in observed(row, fields):
        message = Message(
            Position(1, 1), state.now_us, "tidegate.local.observed.x", encode(observation)
        )
        facts, _ = accept(state, Position(1, 0), [message])
        for seq, event in enumerate([*facts, *decide(state)], start=1):
            read_model.apply_event(event, f"{LEDGER}/{seq}")
            shown = read_model.workloads.get(getattr(event, "workload", ""))
            if shown is not None:
                made = [event_object(text, shown, seq, event.at_us) for text in event_texts(event)]
                msgspec.json.encode(made)
    for shown in read_model.workloads.values():
        try:
            msgspec.json.encode(shown_as.workload_object(shown, fields, row, read_model.priorities))
        except TidegateError:
            continue


def test_an_order_that_meets_nonsense_is_reported_and_others_are_carried_out() -> None:
    async def run() -> None:
        scene = Scene()
        odd, other = scene.make(JOBS, job("odd")), scene.make(JOBS, job("other"))
        meta = {"uid": ref(odd).uid, "resourceVersion": "1"}
        body = msgspec.json.encode({"metadata": meta, "spec": 5})

        async def garble(method: str, path: str) -> Response | None:
            return Response(200, body) if (method, path) == ("GET", f"{JOBS}/odd") else None

        scene.api.before = garble
        async with alongside(scene.actuator().run()):
            await scene.write(start(odd), start(other))
            failed = await scene.hear(ActuationReported)
            await eventually(lambda: not scene.job("other")["spec"]["suspend"])
        assert (failed.reason, failed.job.name) == ("invalid", "odd")
        assert "Error" in failed.message

    run_virtually(run())


def test_a_workload_that_makes_no_sense_does_not_keep_others_from_being_shown() -> None:
    async def run() -> None:
        story = Story()
        odd = {"metadata": {"name": "odd", "namespace": "a", "uid": "u"}, "spec": 5}
        body = msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": [odd]})

        async def garble(method: str, path: str) -> Response | None:
            return Response(200, body) if (method, path) == ("GET", f"{KUEUE}/workloads") else None

        story.api.before = garble
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)

    run_virtually(run())


def test_a_terminal_gets_none_of_the_characters_that_it_would_obey(
    capsys: pytest.CaptureFixture[str],
) -> None:
    forged = "eve\x1b[2J\n  12  WorkloadAdmitted  \u202e"
    ended = WorkloadFinished(at_us=1, workload="a/one", reason=forged, message=forged)
    texts = [sentence(ended, "a/one")]
    record = {"author": forged}
    print_record(record, Output.TABLE, name="author")
    print_records([record], [Column("AUTHOR", "author")], Output.TABLE)
    texts += capsys.readouterr().out.splitlines()
    assert len(texts) == 4
    assert all(text.isprintable() for text in texts)
