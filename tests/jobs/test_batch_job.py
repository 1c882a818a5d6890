"""Jobs as data: an object and what is observed of it, an order and the step that it asks for.

Each file in ``batch_job/`` is one case. Steps are also walked to their end, each patch applied to
the object as an API server would.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from tidegate.contracts.decisions import StartOrdered, StopOrdered
from tidegate.errors import TidegateError
from tidegate.jobs.batch_job import KIND
from tidegate.jobs.kind import Object, Patch, Start, Step, Stop, Wait
from tidegate.kinds.decode import decode_object
from tidegate.model.ids import ObjectRef

CASES = {path.stem: path for path in sorted((Path(__file__).parent / "batch_job").glob("*.yaml"))}
JOB = ObjectRef(kind="batch/job", namespace="team", name="train", uid="u1")


def case(name: str) -> Object:
    found: Object = yaml.safe_load(CASES[name].read_text())
    return found


def start_of(found: Object) -> Start:
    written = {**found["start"], "at_us": 1, "workload": "team/w", "job": msgspec.to_builtins(JOB)}
    seq = written.pop("seq")
    order = msgspec.convert({**written, "type": "StartOrdered/1"}, StartOrdered)
    return Start(order=order, ledger_id="L1", seq=seq)


def stop(seq: int) -> Stop:
    order = StopOrdered(at_us=1, workload="team/w", job=JOB)
    return Stop(order=order, ledger_id="L1", seq=seq)


def plain(struct: msgspec.Struct) -> Object:
    """Return it as YAML writes it: lists, no tuples."""
    found: Object = msgspec.json.decode(msgspec.json.encode(struct))
    return found


def told(step: Step) -> Object:
    return {type(step).__name__: plain(step)}


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


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("observe")])
def test_an_object_is_observed_as(name: str) -> None:
    found = case(name)
    seen = decode_object(msgspec.json.encode(found["job"]), KIND.seen)
    if "error" in found:
        with pytest.raises(TidegateError) as caught:
            KIND.observe(seen)
        assert str(caught.value) == found["error"]
    else:
        assert plain(KIND.observe(seen)) == found["observed"]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("start")])
def test_a_start_asks_for(name: str) -> None:
    found = case(name)
    assert told(KIND.start(start_of(found), found["job"])) == found["step"]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("stop")])
def test_a_stop_asks_for(name: str) -> None:
    found = case(name)
    asked = found["stop"]
    step = KIND.stop(stop(asked["seq"]), found["job"], asked.get("waited_s", 0.0))
    assert told(step) == found["step"]


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
    found = case(name)
    began = carried_out(found["job"], start_of(found))
    running = merged(began, {"status": {"startTime": "2026-03-01T08:01:00Z", "active": 2}})
    ended = carried_out(running, stop(9))
    before = {**found["job"]["spec"], "suspend": True}
    assert msgspec.json.encode(ended["spec"]) == msgspec.json.encode(before)
    written = ended["metadata"]["annotations"]
    assert written == {
        **found["job"]["metadata"].get("annotations", {}),
        "tidegate.dev/decision": "L1/9",
    }


def test_another_start_replaces_what_an_earlier_one_put_in() -> None:
    found = case("start_placed")
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
    found = case("start_runs_elsewhere")
    job = carried_out(found["job"], start_of(found))
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"type": "spot"}


def test_the_podsets_of_its_workload_are_as_the_owner_wrote_them() -> None:
    found = case("start_placed")
    job = merged(
        carried_out(found["job"], start_of(found)),
        {"spec": {"template": {"metadata": {"labels": {"controller-uid": "u1"}}}}},
    )
    assert KIND.podsets(job) == [
        {"name": "main", "count": 2, "template": found["job"]["spec"]["template"]}
    ]
