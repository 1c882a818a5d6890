"""A tree moves between two partitions on real parts while its jobs run, and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.cast import until
from tests.partitions.site import NAMESPACE, Site, partitioned
from tests.parts.postgresql import Server
from tidegate.contracts.decisions import StopOrdered
from tidegate.contracts.facts import WorkloadAdopted

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]
TREE = ("left", "right")


@pytest.fixture
async def site(tmp_path: Path, postgresql: Server) -> AsyncGenerator[Site]:
    async with partitioned(tmp_path, postgresql.new_database()) as actual_site:
        for name in TREE:
            await actual_site.queue(name, 0, cohort="tree")
        yield actual_site


async def move(site: Site, to: int) -> None:
    """Let the command move the tree to another partition, and wait until both queues are open."""
    answer = await site.tidegate("partitions", "move", "tree", "--to", str(to))
    assert f"clusterqueue.kueue.x-k8s.io/right moved to partition {to}" in answer
    for name in TREE:
        notes = (await site.get(f"clusterqueues/{name}"))["metadata"]["annotations"]
        assert notes == {"tidegate.dev/partition": str(to)}
    assert await trees(site) == {to: ["tree"], 1 - to: []}

    async def is_open() -> bool:
        events = [event for event in site.events(to) if type(event).__name__ == "TreeTaken"]
        statuses = [(await site.get(f"clusterqueues/{name}")).get("status", {}) for name in TREE]
        values = [status.get("conditions", [{}])[0].get("status") for status in statuses]
        return bool(events) and values == ["True"] * len(TREE)

    await until(is_open, f"the tree is partition {to}'s")


async def trees(site: Site) -> dict[int, list[str]]:
    """Return what the command lists of each partition; both are led, and nothing is on its way."""
    listed = list[dict[str, Any]]()

    async def is_at_rest() -> bool:
        answer = await site.tidegate("partitions", "list", "-o", "json", asks="bus")
        listed[:] = msgspec.json.decode(answer)
        return not any(partition["moves"] for partition in listed)

    await until(is_at_rest, "the release is confirmed")
    assert all(partition["published"] > 0 for partition in listed)
    assert {partition["leader"] != "" for partition in listed} == {True}
    assert [partition["moves"] for partition in listed] == [[], []]
    return {
        partition["partition"]: [tree["name"] for tree in partition["trees"]]
        for partition in listed
    }


async def workload_uids(site: Site) -> set[str]:
    fields = await site.get(f"namespaces/{NAMESPACE}/workloads")
    return {obj["metadata"]["uid"] for obj in fields["items"]}


async def test_what_runs_goes_on_and_what_waits_starts_where_the_tree_is(site: Site) -> None:
    for number in range(4):
        await site.submit(f"runs-{number}", "left", seconds=100_000)
    await site.until_started(*(f"runs-{number}" for number in range(4)))
    await site.submit("waits", "right", seconds=1)
    made = await workload_uids(site)
    for to in (1, 0):
        await move(site, to)
        assert (await site.job("waits"))["spec"]["suspend"], "all of the quota is in use"
        for number in range(4):
            job = await site.job(f"runs-{number}")
            assert (job["spec"]["suspend"], job["status"]["active"]) == (False, 1)
        adopted = [e for e in site.events(to) if isinstance(e, WorkloadAdopted)]
        assert len({event.workload for event in adopted}) == len(range(4))
    assert await workload_uids(site) >= made, "no Workload was deleted"
    answer = await site.api.request("DELETE", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/runs-0")
    assert answer.status == 200, answer.body
    await site.until_complete("waits")
    for partition in (0, 1):
        assert not [e for e in site.events(partition) if isinstance(e, StopOrdered)]
    assert set(site.supervisor.restarts.values()) == {0}
