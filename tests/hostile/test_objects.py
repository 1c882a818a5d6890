"""Whatever a job says is observed, started, stopped and shown, or refused with an error of ours."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from tests.hostile.drawing import KINDS, Object, objects
from tests.jobs.walking import IDLE, merged
from tests.parts.drawn import drawn
from tidegate.contracts.codec import decode_observation, encode
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobState, Observation
from tidegate.errors import TidegateError, TooLargeError, UndecodableError
from tidegate.jobs.kind import JobKind, Patch, Start, Step, Stop, Wait
from tidegate.kinds.decode import Unreadable, decode
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Toleration

STEPS_MAX = 20
JOB = ObjectRef(kind="k", namespace="team", name="train", uid="uid")
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
each_kind = pytest.mark.parametrize("kind", KINDS)


def seen_as(kind: JobKind[Any], obj: Object) -> Any:  # noqa: ANN401 - of the kind's own type
    line = msgspec.json.encode({"type": "ADDED", "object": obj})
    return decode(line, kind.object_type)[1]


def observed(kind: JobKind[Any], obj: Object) -> list[Any]:
    """Return what ingest tells of an object, as it stands on the bus; nothing: it is refused."""
    seen, joins = seen_as(kind, obj), JobIndex([kind], Scope())
    try:
        pairs = [] if isinstance(seen, Unreadable) else list(joins.job(kind, seen))
        sent = [encode(cast("Observation", observation)) for _, observation in pairs]
    except TooLargeError:
        return []
    except TidegateError as error:
        joins.malformed_job(kind, seen.metadata, obj, str(error))
        return []
    made: list[Any] = [observation for _, observation in pairs]
    assert [decode_observation(body) for body in sent] == made
    return made


@each_kind
@drawn(12, SLOW)
@given(st.data())
def test_any_object_is_observed_or_refused(kind: str, data: st.DataObject) -> None:
    observed(KINDS[kind][0], data.draw(objects(kind)))


@each_kind
@drawn(12, SLOW)
@given(st.data())
def test_how_any_object_stands_can_be_reported(kind: str, data: st.DataObject) -> None:
    row, fields = KINDS[kind][0], data.draw(objects(kind))
    seen = seen_as(row, fields)
    observation = row.status_of(seen.metadata, fields)
    assert msgspec.json.decode(msgspec.json.encode(observation), type=JobState) == observation


def given_to(row: JobKind[Any], obj: Object) -> tuple[PodSetStart, ...]:
    """Return what a start gives to the podsets of an object, or of one that can be read."""
    values = [observation for observation in observed(row, obj) if observation.podsets]
    podsets = values[0].podsets if values else ()
    return tuple(
        PodSetStart(
            name=podset.name,
            count=podset.count,
            node_selector={"size": "big"},
            tolerations=(Toleration(key="a", operator="Exists"),),
            labels={"a": "b"},
        )
        for podset in podsets
    )


def walked(row: JobKind[Any], job: Object, order: Start | Stop) -> Object:
    """Take steps until there are no more, or one is refused."""
    for _ in range(STEPS_MAX):
        try:
            match order:
                case Start():
                    step: Step = row.start(order, job)
                case Stop():
                    step = row.stop(order, job, 700.0)
        except UndecodableError:
            return job
        match step:
            case Patch():
                job = merged(job, step.body)
            case Wait():
                job = merged(job, IDLE)
            case _:
                return job
    raise AssertionError("the steps never end")


@each_kind
@drawn(12, SLOW)
@given(st.data())
def test_any_object_is_started_and_stopped_or_refused(kind: str, data: st.DataObject) -> None:
    row, obj = KINDS[kind][0], data.draw(objects(kind))
    if not row.optional and isinstance(seen_as(row, obj), Unreadable):
        return  # the API server would not have it
    podsets = given_to(row, obj)
    start = StartOrdered(at_us=1, workload="team/w", job=JOB, podsets=podsets)
    stop = StopOrdered(at_us=1, workload="team/w", job=JOB, podsets=podsets)
    began = walked(row, obj, Start(order=start, ledger_id="ledger-1", seq=7))
    altered = merged(began, {"metadata": {"annotations": obj["metadata"]["annotations"]}})
    for job in (began, altered):
        walked(row, job, Stop(order=stop, ledger_id="ledger-1", seq=9))
