"""What is to be done about a workload's requests: a row of ``data/plans.yaml`` each."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from actuator.provisioning.plan import plan
from tests.provisioning.standing import Object, config, request, workload

ROWS: list[Object] = yaml.safe_load((Path(__file__).parent / "data" / "plans.yaml").read_text())
KNOWN = {
    *("rule", "annotations", "conditions", "state", "active", "config", "requests", "spent"),
    *("cleans", "becomes", "delete", "make", "keep"),
}


@pytest.mark.parametrize("row", ROWS, ids=[row["rule"] for row in ROWS])
def test_a_plan_does_what_its_rule_says(row: Object) -> None:
    fields, provisioning_requests = (
        workload(row),
        [request(candidate_request) for candidate_request in row.get("requests", ())],
    )
    configs = {"c": config(row.get("config", {}))}
    spent = {f"r{attempt}" for attempt in row.get("spent", ())}
    steps = plan(fields, configs, provisioning_requests, spent, cleans=row.get("cleans", True))
    assert set(row) <= KNOWN
    assert list(steps.states) == expected(fields, row)
    assert [provisioning_request.metadata.name for provisioning_request in steps.delete] == row.get(
        "delete", []
    )
    assert [ask.name for ask in steps.make] == row.get("make", [])
    assert [provisioning_request.metadata.name for provisioning_request in steps.keep] == row.get(
        "keep", []
    )


def expected(obj: Object, row: Object) -> list[Object]:
    """Return the state that a row expects: what it names differs, the rest is as before."""
    (before,) = obj["status"]["admissionChecks"]
    return [{**before, **row["becomes"]}] if "becomes" in row else []


def test_a_plan_that_was_carried_out_asks_for_nothing_more() -> None:
    for row in ROWS:
        obj, provisioning_requests = (
            workload(row),
            [request(candidate_request) for candidate_request in row.get("requests", ())],
        )
        configs = {"c": config(row.get("config", {}))}
        steps = plan(obj, configs, provisioning_requests)
        for state in steps.states:
            obj["status"]["admissionChecks"] = [state]
        again = plan(obj, configs, list(steps.keep))
        assert again.states == ()
        assert again.delete == ()


def test_podsets_whose_assignment_is_not_shown_yet_are_left_alone() -> None:
    obj = workload({})
    obj["status"]["admission"]["podSetAssignments"].pop()
    steps = plan(obj, {"c": config({})}, [request({"attempt": 1})])
    assert (steps.states, steps.delete, steps.make) == ((), (), ())
