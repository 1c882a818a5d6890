"""The loads that clusters of users have: the same for a seed, and every job is counted."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.real import redefining
from bench.real.arrivals import TIMES, Job, jobs
from bench.real.cluster import Cluster
from bench.real.objects import GPU, beginning

MINUTE_US = 60_000_000


def some(name: str, seed: int = 0, count: int = 400) -> list[Job]:
    return list(islice(jobs(name, 5, 0.002, seed), count))


@pytest.mark.parametrize("name", TIMES)
def test_a_load_is_the_same_for_a_seed_and_comes_at_its_rate(name: str) -> None:
    actual_jobs = some(name)
    assert actual_jobs == some(name)
    assert actual_jobs != some(name, seed=1)
    assert actual_jobs[-1].at_us / 1e6 == pytest.approx(200_000, rel=0.3)


def test_a_fifth_of_the_jobs_asks_for_a_gpu() -> None:
    asking = [job for job in some("heavy") if GPU in job.asked.podsets[0].containers[0].requests]
    assert len(asking) == pytest.approx(80, abs=30)


def test_every_job_ends_and_what_was_stopped_is_lost() -> None:
    cluster = Cluster()
    cluster.fold(beginning(5, "tidegate", fair=False))
    for job in some("bursts", count=60):
        cluster.run_until(job.at_us)
        cluster.step(job)
    cluster.run_until(cluster.now_us + 10_000 * MINUTE_US)
    tally = cluster.tally
    assert tally.settled
    assert (tally.finished, cluster.jobs, cluster.running) == (60, {}, {})
    wanted = sum(job.cpu * job.run_us for job in some("bursts", count=60))
    assert tally.used - tally.lost == wanted


def test_what_runs_still_is_not_lost_but_was_run() -> None:
    cluster = Cluster()
    cluster.fold(beginning(5, "tidegate", fair=False))
    for job in some("bursts", count=60):
        cluster.run_until(job.at_us // 20)
        cluster.step(job)
    tally = cluster.tally
    assert cluster.running
    assert 0 < cluster.lost_share() < tally.lost / tally.used
    cluster.run_until(cluster.now_us + 10_000 * MINUTE_US)
    assert cluster.lost_share() == tally.lost / tally.used


def test_each_change_of_a_definition_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert redefining.main(["--queues", "10", "--pending", "60"]) == 0
    first, *changes = capsys.readouterr().out.splitlines()
    assert "in its cohort tree" in first
    assert len(changes) == 6
    assert all("ms to fold" in line for line in changes)
