"""An elastic Job on racks: the pods that a larger slice brings go where that slice says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import has_condition
from tests.e2e.cast import until
from tests.e2e.racks import NAME, WORKLOADS, Enabled, Racks, racks
from tests.e2e.test_job_kinds import get
from tests.parts.foreign import pods_template
from tests.parts.kubernetes import new_api as own_api
from tidegate.kinds.kueue_api.workloads.conversion import topology_assignment
from tidegate.kinds.kueue_api.workloads.status import TopologyAssignment
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi
from tidegate.model.topology import unpack

__all__ = ["own_api"]
pytestmark = [pytest.mark.real, pytest.mark.slow]
Object = dict[str, Any]
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"
GATE = "ElasticJobsViaWorkloadSlicesWithTAS"


async def test_pods_of_a_job_that_grew_run_where_its_larger_slice_says(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    enabled = Enabled(acts=(), others=("batch/job",), gates=(GATE,))
    async with racks(api, own_api, tmp_path, enabled) as here:
        await here.make(JOBS, job("grows", 2))
        before = await run(here, 2)
        body = msgspec.json.encode({"spec": {"parallelism": 5}})
        await api.request("PATCH", f"{JOBS}/grows", body=body, content_type=MERGE_PATCH)
        after = await run(here, 5)
        assert before.items() <= after.items()


def job(name: str, pods: int) -> Object:
    template = pods_template("2", 3_600)
    template["metadata"]["annotations"]["kueue.x-k8s.io/podset-unconstrained-topology"] = "true"
    labels = {"kueue.x-k8s.io/queue-name": NAME}
    marks = {"kueue.x-k8s.io/elastic-job": "true"}
    spec = {"parallelism": pods, "completions": 100, "suspend": True, "template": template}
    return {"metadata": {"name": name, "labels": labels, "annotations": marks}, "spec": spec}


async def run(here: Racks, count: int) -> dict[str, str]:
    """Wait until so many pods run as the slice that holds quota says; return pods to hosts."""
    mapping = dict[str, str]()

    async def as_they_should() -> bool:
        running = [
            pod for pod in await here.pods("grows") if pod["status"].get("phase") == "Running"
        ]
        mapping.clear()
        mapping.update({pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in running})
        return len(mapping) == count and Counter(mapping.values()) == await granted(here)

    await until(as_they_should, f"{count} pods run where they shall", patience_s=180)
    return mapping


async def granted(here: Racks) -> Counter[str]:
    """Return how many pods each host is to have by the Workload that is not over."""
    living = [
        workload
        for workload in (await get(here.api, WORKLOADS))["items"]
        if has_condition(workload, "Admitted") and not has_condition(workload, "Finished")
    ]
    hosts = Counter[str]()
    for obj in living:
        (given,) = obj["status"]["admission"]["podSetAssignments"]
        actual_topology_assignment = msgspec.convert(
            given["topologyAssignment"], TopologyAssignment
        )
        hosts += Counter(
            {e.values[-1]: e.count for e in unpack(topology_assignment(actual_topology_assignment))}
        )
    return hosts
