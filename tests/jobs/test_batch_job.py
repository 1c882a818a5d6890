"""Starts and stops of a batch Job from any state in which a user or controller left it."""

from __future__ import annotations

from tests.jobs.cases import case, start_of
from tests.jobs.walking import carried_out, merged
from tidegate.jobs.batch.batch_job import KIND


def test_another_start_replaces_what_an_earlier_one_put_in() -> None:
    fields = case("batch_job/start_placed")
    once = carried_out(KIND, fields["job"], start_of(fields))
    again = merged(once, {"spec": {"suspend": True}})
    podset = {"name": "main", "count": 2, "node_selector": {"type": "on-demand"}}
    order = start_of({"start": {"seq": 11, "podsets": [podset]}})
    job = carried_out(KIND, again, order)
    template = job["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"disk": "ssd", "zone": "a", "type": "on-demand"}
    assert template["spec"]["tolerations"] == [{"key": "own", "operator": "Exists"}]
    assert template["metadata"] == {"labels": {"app": "t"}}


def test_a_job_unsuspended_by_hand_is_suspended_placed_and_started() -> None:
    fields = case("batch_job/start_runs_elsewhere")
    job = carried_out(KIND, fields["job"], start_of(fields))
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"type": "spot"}


def test_the_podsets_of_its_workload_are_as_the_owner_wrote_them() -> None:
    fields = case("batch_job/start_placed")
    job = merged(
        carried_out(KIND, fields["job"], start_of(fields)),
        {"spec": {"template": {"metadata": {"labels": {"controller-uid": "u1"}}}}},
    )
    (podset,) = KIND.podsets(job)
    assert (podset["name"], podset["count"]) == ("main", 2)
    assert podset["template"] == fields["job"]["spec"]["template"]
