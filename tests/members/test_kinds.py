"""JobSets and groups of pods run in a member cluster by the hub's quota, and come to their ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.act import has_condition
from tests.e2e.acts.jobset import jobset_children, jobset_status
from tests.e2e.operators import Operator, at_work
from tests.members.leaves import HUB
from tests.members.placed import PODS
from tests.members.stage import KUEUE, NAMESPACE, QUEUE, World, hub_and_members, listed, send
from tests.parts.foreign import JOBSETS, foreign_crd, jobset, pods_template

pytestmark = [pytest.mark.real, pytest.mark.slow]
Object = dict[str, Any]
SETS = JOBSETS.format(NAMESPACE)
WORKLOADS = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
GATE, PATIENCE_S = "kueue.x-k8s.io/admission", 180.0
FRAMEWORKS = "batch/job,jobset.x-k8s.io/jobset,pod,pod-group"


def in_group(name: str, number: int, total: int) -> Object:
    """Return one gated pod of a group, as its creator writes it where no policy gates pods."""
    template = pods_template("1", 3)
    labels = {"kueue.x-k8s.io/queue-name": QUEUE, GROUP: name, "kueue.x-k8s.io/managed": "true"}
    notes = {**template["metadata"]["annotations"], TOTAL: str(total)}
    meta = {"name": f"{name}-{number}", "labels": labels, "annotations": notes}
    return {"metadata": meta, "spec": {**template["spec"], "schedulingGates": [{"name": GATE}]}}


async def until_finished(world: World, cluster: str, count: int) -> list[Object]:
    """Wait until so many Workloads of a cluster are finished, and return them."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            documents = await listed(world.apis[cluster], WORKLOADS)
            if sum(has_condition(workload, "Finished") for workload in documents) >= count:
                return documents
            await asyncio.sleep(0.5)


async def test_jobsets_and_groups_run_in_a_member_and_are_accounted_to_it(tmp_path: Path) -> None:
    operator = Operator(
        SETS, jobset_children, jobset_status, lambda set_: has_condition(set_, "Completed")
    )
    words = ("--frameworks", FRAMEWORKS)
    async with hub_and_members(tmp_path, ingest=words, crds=(foreign_crd("jobset"),)) as world:
        east = world.apis["east"]
        async with at_work(east, operator):
            made = jobset("set", QUEUE, seconds=3)
            await send(east, SETS, {**made, "spec": {**made["spec"], "suspend": True}})
            for number in range(3):
                await send(east, PODS, in_group("crew", number, 3))
            await send(east, PODS, in_group("lone", 0, 1))
            finished = await until_finished(world, "east", 3)
        owners = {obj["metadata"]["ownerReferences"][0]["kind"] for obj in finished}
        assert owners == {"JobSet", "Pod"}
        pods = await listed(east, PODS)
        assert {pod["status"]["phase"] for pod in pods} == {"Succeeded"}
        assert await listed(world.apis[HUB], WORKLOADS) == []
        assert 3 <= world.highest()["east"] <= 4
