"""The measure of jobs that are passed by, in small."""

from __future__ import annotations

import pytest

from bench.passing import cost_us, main


@pytest.mark.slow
def test_both_ways_of_a_job_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--jobs", "200", "--runs", "1"]) == 0
    own, passed, *shares = capsys.readouterr().out.splitlines()
    assert own.startswith("a job of the partition's own")
    assert passed.startswith("a job that is passed by")
    assert len(shares) == 3
    assert cost_us(0, 200) > cost_us(1, 200) > 0
