"""A JobSet that is made in east and runs in west, with a stand-in for JobSet's controller."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.e2e.act import has_condition
from tests.e2e.acts.jobset import jobset_children, jobset_is_active, jobset_status
from tests.e2e.cast import until
from tests.e2e.operators import Operator, at_work
from tests.members.placed import PATIENCE_S, Jobs, place, pods_seen
from tests.members.planes import real_server
from tests.members.stage import NAMESPACE, QUEUE, Object, Server, World, hub_and_members, send
from tests.outages.test_three_servers import api_server
from tests.parts.foreign import JOBSETS, foreign_crd, jobset
from tidegate.cluster.install import apply
from tidegate.kinds import names
from tidegate.kinds.manifests import policies

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]
SERVERS = [
    pytest.param(api_server, "", id="embedded"),
    pytest.param(real_server, "policies", id="real"),
]
SETS, FRAMEWORKS = JOBSETS.format(NAMESPACE), "batch/job,jobset.x-k8s.io/jobset"


def is_complete(obj: Object) -> bool:
    return has_condition(obj, "Completed")


CONTROLLER = Operator(SETS, jobset_children, jobset_status, is_complete)


async def submit(world: World, marks: str) -> None:
    """Make a JobSet in east that is placed: by policies, once they act, or by its owner."""
    made = jobset("crew", QUEUE, seconds=8)
    if not marks:
        spec = {**made["spec"], "suspend": True, "managedBy": names.PLACED}
        await send(world.apis["east"], SETS, made | {"spec": spec})
        return
    for policy in policies(tuple(FRAMEWORKS.split(","))):
        await apply(world.apis["east"], policy)

    async def is_placed() -> bool:
        body, tried = msgspec.json.encode(made), {"dryRun": "All"}
        answer = await world.apis["east"].request("POST", SETS, body=body, query=tried)
        obj: Object = msgspec.json.decode(answer.body)
        return bool(obj.get("spec", {}).get("managedBy") == names.PLACED)

    await until(is_placed, "JobSets of the queue are placed", PATIENCE_S)
    await send(world.apis["east"], SETS, made)


async def runs_elsewhere(sets: Jobs) -> None:
    """Wait until the JobSet runs in west, and until the one in east shows its end."""
    here = await sets.until("east", "crew", jobset_is_active, "it runs")
    there = await sets.until("west", "crew", jobset_is_active, "it runs")
    assert (here["spec"]["suspend"], there["spec"]["suspend"]) == (True, False)
    assert there["metadata"]["annotations"][names.ORIGIN] == f"{here['metadata']['uid']}@east"
    ended = await sets.until("east", "crew", is_complete, "it is complete")
    assert [status["succeeded"] for status in ended["status"]["replicatedJobsStatus"]] == [1, 1]
    await sets.gone("west")


@pytest.mark.parametrize(("server", "marks"), SERVERS)
async def test_a_jobset_of_east_runs_in_west_and_is_seen_in_east(
    tmp_path: Path, server: Server, marks: str
) -> None:
    words, crds = ("--frameworks", FRAMEWORKS), (foreign_crd("jobset"),)
    async with hub_and_members(tmp_path, ingest=words, crds=crds, server=server) as world:
        await place(world)
        async with pods_seen(world) as pods, at_work(world.apis["west"], CONTROLLER):
            await submit(world, marks)
            await runs_elsewhere(Jobs(world, SETS))
            await Jobs(world).gone("west")
        ran = {name: [cluster for cluster, _ in pairs] for name, pairs in pods.items()}
        assert ran == {"crew-leader-0": ["west"], "crew-worker-0": ["west"]}
        assert await world.jobs("east") == []
        assert world.highest() == {"west": 2}
