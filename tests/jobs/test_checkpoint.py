"""What a job says of its checkpoint is a time in whole minutes, or nothing."""

from __future__ import annotations

import pytest

from tidegate.jobs.job_metadata import job_state
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta

MINUTE_US = 60_000_000


def checkpoint_of(text: str) -> int:
    """Return the checkpoint of a job with this annotation."""
    meta = ObjectMeta(name="job", annotations={names.CHECKPOINT_AT: text})
    return job_state(meta, suspended=False).checkpoint_us


def test_a_time_counts_to_the_minute() -> None:
    assert checkpoint_of("1970-01-01T01:02:59Z") == 62 * MINUTE_US
    assert checkpoint_of("1970-01-01T01:02:59.999+01:00") == 2 * MINUTE_US


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-01-01T00:00:00", "0001-01-01T00:00:00Z", "9" * 10_000, "1\0", "NaN"],
)
def test_what_is_no_time_says_nothing(text: str) -> None:
    assert checkpoint_of(text) == 0
