"""What a job at home shows of its copy: the copy's status, and counters that never go back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tidegate.jobs.placed.body import status_patch, status_text

Object = dict[str, Any]
RUNS: Object = {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
CASES: dict[str, tuple[Object, str, Object | None]] = {
    "nothing yet": ({}, "", None),
    "runs": ({}, msgspec.json.encode(RUNS).decode(), RUNS),
    "shown already": (RUNS, msgspec.json.encode(RUNS).decode(), None),
    "gone": (RUNS, "", {"active": None, "ready": None, "startTime": None}),
    "counts stand": ({"failed": 2, "succeeded": 1}, '{"failed":1,"active":1}', {"active": 1}),
    "counts rise": ({"failed": 2}, '{"failed":3}', {"failed": 3}),
    "no number": ({"failed": 2}, '{"failed":"x"}', None),
    "no JSON": (RUNS, "{", None),
    "no object": (RUNS, "[1]", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_patch_shows_the_copy(name: str) -> None:
    here, text, patch = CASES[name]
    expected = None if patch is None else {"status": patch}
    assert status_patch({"status": here}, text) == expected
    assert status_patch({"status": here} if here else {}, text) == expected


def test_what_the_controller_alone_needs_does_not_cross() -> None:
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["uid"]}, "active": 0}
    assert status_text({"status": status}, 100) == '{"active":0,"succeeded":1}'
    assert status_text({}, 100) == ""
    assert status_text({"status": {"uncountedTerminatedPods": {}}}, 100) == ""


def test_a_status_that_is_too_long_does_not_cross() -> None:
    job = {"status": {"conditions": ["é" * 30]}}
    assert status_text(job, 200)
    assert status_text(job, 70) == ""


def test_a_status_without_its_long_lists_may_cross() -> None:
    job = {"status": {"succeeded": 9, "completedIndexes": "1," * 50, "failedIndexes": "2"}}
    assert status_text(job, 60) == '{"succeeded":9}'
    assert "completedIndexes" in status_text(job, 200)
