"""A Job's steps walked to their end, each patch applied to the object as an API server would."""

from __future__ import annotations

import msgspec
import pytest

from tests.jobs.cases import case, start_of, stop_of
from tidegate.jobs.batch_job import KIND
from tidegate.jobs.kind import Object, Patch, Start, Stop, Wait


def merged(found: Object, patch: Object) -> Object:
    result = dict(found)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merged(result.get(name) or {}, value)
        else:
            result[name] = value
    return result


def carried_out(job: Object, order: Start | Stop) -> Object:
    """Take every step, with a Job controller that clears startTime as soon as it is waited for."""
    for _ in range(10):
        step = KIND.start(order, job) if isinstance(order, Start) else KIND.stop(order, job, 0.0)
        match step:
            case Patch():
                job = merged(job, step.body)
            case Wait():
                job = merged(job, {"status": {"startTime": None, "active": 0}})
            case _:
                return job
    raise AssertionError("the steps never end")


@pytest.mark.parametrize("name", ["start_plain", "start_placed", "start_partial"])
def test_a_stop_restores_what_a_start_changed_byte_for_byte(name: str) -> None:
    found = case(f"batch_job/{name}")
    began = carried_out(found["job"], start_of(found))
    running = merged(began, {"status": {"startTime": "2026-03-01T08:01:00Z", "active": 2}})
    ended = carried_out(running, stop_of(9))
    before = {**found["job"]["spec"], "suspend": True}
    assert msgspec.json.encode(ended["spec"]) == msgspec.json.encode(before)
    written = ended["metadata"]["annotations"]
    assert written == {
        **found["job"]["metadata"].get("annotations", {}),
        "tidegate.dev/decision": "L1/9",
    }


def test_another_start_replaces_what_an_earlier_one_put_in() -> None:
    found = case("batch_job/start_placed")
    once = carried_out(found["job"], start_of(found))
    again = merged(once, {"spec": {"suspend": True}})
    podset = {"name": "main", "count": 2, "node_selector": {"type": "on-demand"}}
    order = start_of({"start": {"seq": 11, "podsets": [podset]}})
    job = carried_out(again, order)
    template = job["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"disk": "ssd", "zone": "a", "type": "on-demand"}
    assert template["spec"]["tolerations"] == [{"key": "own", "operator": "Exists"}]
    assert template["metadata"] == {"labels": {"app": "t"}}


def test_a_job_unsuspended_by_hand_is_suspended_placed_and_started() -> None:
    found = case("batch_job/start_runs_elsewhere")
    job = carried_out(found["job"], start_of(found))
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"type": "spot"}


def test_the_podsets_of_its_workload_are_as_the_owner_wrote_them() -> None:
    found = case("batch_job/start_placed")
    job = merged(
        carried_out(found["job"], start_of(found)),
        {"spec": {"template": {"metadata": {"labels": {"controller-uid": "u1"}}}}},
    )
    assert KIND.podsets(job) == [
        {"name": "main", "count": 2, "template": found["job"]["spec"]["template"]}
    ]
