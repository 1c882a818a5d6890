"""Two schedulers and two actuators run jobs of two trees; one of them hangs, and one goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.e2e.cast import until
from tests.partitions.site import NAMESPACE, Site, partitioned
from tests.parts.postgresql import Server
from tidegate.contracts.decisions import StartOrdered
from tidegate.contracts.facts import Event, WorkloadSubmitted

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]
BOTH = ("first", "second")


def started(events: list[Event]) -> set[str]:
    return {event.workload for event in events if isinstance(event, StartOrdered)}


def submitted(events: list[Event]) -> set[str]:
    return {event.queue for event in events if isinstance(event, WorkloadSubmitted)}


async def shown(site: Site, queue: str, count: int) -> None:
    """Wait until a LocalQueue and its ClusterQueue say how many of their jobs are admitted."""

    async def is_shown() -> bool:
        paths = f"namespaces/{NAMESPACE}/localqueues/{queue}", f"clusterqueues/{queue}"
        statuses = [(await site.get(path)).get("status", {}) for path in paths]
        return [status.get("admittedWorkloads") for status in statuses] == [count, count]

    await until(is_shown, f"{queue} shows {count} admitted")


@pytest.fixture
async def site(tmp_path: Path, postgresql: Server) -> AsyncGenerator[Site]:
    async with partitioned(tmp_path, postgresql.new_database()) as actual_site:
        for number, name in enumerate(BOTH):
            await actual_site.queue(name, number, cohort=f"tree-{number}")
        for name in BOTH:  # a Job of a queue that is not observed yet is partition 0's
            await shown(actual_site, name, 0)
        yield actual_site


@pytest.mark.slow
async def test_each_runs_its_own_and_one_goes_on_without_the_other(site: Site) -> None:
    for name in BOTH:
        await site.submit(f"{name}-a", name, seconds=2)
        await site.submit(f"{name}-long", name, seconds=100_000)
    await site.until_complete(*(f"{name}-a" for name in BOTH))
    for name in BOTH:
        await shown(site, name, 1)
    for halted, away, there in (("scheduler", *BOTH), ("scheduler_1", *reversed(BOTH))):
        site.halt(halted)
        await site.submit(f"waits-{away}", away)
        await site.submit(f"goes-on-{there}", there)
        await site.until_complete(f"goes-on-{there}")
        assert (await site.job(f"waits-{away}"))["spec"]["suspend"]
        site.resume(halted)
        await site.until_complete(f"waits-{away}")
    for number, name in enumerate(BOTH):
        events = site.events(number)
        assert submitted(events) == {name}
        assert len(started(events)) == len(("a", "long", "waits", "goes-on"))
    assert set(site.supervisor.restarts.values()) == {0}
