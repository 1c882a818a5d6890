"""Every recorded decision is put to the core by the runner that ``python -m`` uses."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import failures
from tests.conformance.cases import DATA, Case, suites
from tests.conformance.suites.registry import judge

SUITES: dict[str, list[Case]] = dict(suites(DATA))


@pytest.mark.parametrize("suite", SUITES)
def test_the_core_decides_as_kueue_was_seen_to(suite: str) -> None:
    outcome = judge(suite, "kueue").judge(suite, SUITES[suite])
    assert not outcome.failed, failures(outcome)


@pytest.mark.parametrize(
    ("suite", "count"),
    [
        ("schedule", 72),
        ("schedule-fair", 28),
        ("preemption-classic", 36),
        ("preemption-fair", 37),
        ("preemption-hierarchical", 15),
        ("flavorassigner", 90),
        ("quota", 9),
        ("dominant-share", 21),
        ("entry-ordering", 8),
        ("candidates-ordering", 9),
        ("queue-order", 11),
        ("afs", 8),
        ("queue-readiness", 8),
        ("tas-assignment", 149),
        ("usage-report", 8),
    ],
)
def test_no_case_of_a_promised_suite_is_passed_over(suite: str, count: int) -> None:
    outcome = judge(suite, "kueue").judge(suite, SUITES[suite])
    assert len(outcome.passed) >= count
    assert not outcome.bugs
