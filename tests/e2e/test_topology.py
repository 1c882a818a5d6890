"""Jobs, a JobSet and a group of pods on racks: placed, a node lost, the actuator killed midway."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.operators import Operator, at_work
from tests.e2e.racks import BLOCK, HOSTS, JOBSET, NAME, PODS, RACK, Racks, racks
from tests.parts.foreign import jobset, pods_template
from tests.parts.kubernetes import new_api as own_api
from tidegate.kube.ports import KubernetesApi

__all__ = ["own_api"]
pytestmark = pytest.mark.real
Object = dict[str, Any]
QUEUE = {"kueue.x-k8s.io/queue-name": NAME}
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
INDEX = "batch.kubernetes.io/job-completion-index"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"
JOBSETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAME}/jobsets"


def template(level: str, cpu: str = "2") -> Object:
    obj = pods_template(cpu, 600)
    obj["metadata"]["annotations"][REQUIRED] = level
    return obj


def job(name: str, count: int, level: str) -> Object:
    spec = {"parallelism": count, "completions": count, "completionMode": "Indexed"}
    about = {"name": name, "labels": QUEUE}
    return {"metadata": about, "spec": {**spec, "template": template(level)}}


def member(name: str, count: int) -> Object:
    obj = template(RACK)
    labels = {**QUEUE, GROUP: "crew"}
    marks = {**obj["metadata"]["annotations"], TOTAL: str(count)}
    about = {"name": name, "labels": labels, "annotations": marks}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": obj["spec"]}


async def test_jobs_are_placed_as_required_and_go_on_without_a_lost_node(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    assert JOBSET.children is not None
    assert JOBSET.status is not None
    operator = Operator(JOBSETS, JOBSET.children, JOBSET.status, JOBSET.ended)
    async with racks(api, own_api, tmp_path) as here, at_work(api, operator):
        await here.make(JOBS, job("alone", 8, RACK))
        before = await here.run("alone", 8, RACK)
        check_ranks(await here.pods("alone"))
        made = jobset("several", NAME, seconds=600)
        for candidate_job in made["spec"]["replicatedJobs"]:
            candidate_job["template"]["spec"] |= {"template": template(BLOCK), "parallelism": 3}
            candidate_job["template"]["spec"] |= {"completions": 3, "backoffLimit": 0}
        await here.make(JOBSETS, made)
        for podset in ("leader", "worker"):
            await here.run("several", 3, BLOCK, podset)
        for number in range(4):  # last, else they fill the rack of the Job
            await here.make(PODS, member(f"crew-{number}", 4))
        await here.run("crew", 4, RACK)
        lost = min(before.values())
        await lose(here, lost, "alone")
        after = await here.run("alone", 8, RACK)
        assert lost not in after.values()
        stayed = {name: host for name, host in before.items() if host != lost}
        assert stayed.items() <= after.items()
        await kill_midway(here)


def check_ranks(pods: list[Object]) -> None:
    """Check that the pods of neighbouring ranks are on one host, in the order of hosts."""
    hosts = {int(pod["metadata"]["labels"][INDEX]): pod["spec"]["nodeName"] for pod in pods}
    assert [hosts[at] for at in range(8)] == sorted(hosts.values())


async def lose(here: Racks, host: str, of: str) -> None:
    """Take a node away, and its pods later, as the pod garbage collector does.

    The node comes back outside any rack: a pod that was let go to it before its loss was noticed
    would run there.
    """
    await here.api.request("DELETE", f"/api/v1/nodes/{host}")

    async def placed_anew() -> bool:
        return host not in await here.assigned(of)

    await here.seen(placed_anew, f"{of} has another node than {host}")
    now = msgspec.json.encode({"gracePeriodSeconds": 0})
    for pod in await here.pods(""):
        if pod["spec"].get("nodeName") == host:
            await here.api.request("DELETE", f"{PODS}/{pod['metadata']['name']}", body=now)


async def kill_midway(here: Racks) -> None:
    """Kill the actuator while it lets pods go, and see that its successor counts them."""
    await here.make(JOBS, job("midway", 24, BLOCK))

    async def some_go() -> bool:
        pods = await here.pods("midway")
        return any(not pod["spec"].get("schedulingGates") for pod in pods)

    await here.seen(some_go, "some pods were let go")
    os.kill(here.running.supervisor.pid("actuator"), signal.SIGKILL)

    async def restarted() -> bool:
        return here.running.supervisor.restarts["actuator"] == 1

    await here.seen(restarted, "the actuator was started again")
    hosts = await here.run("midway", 24, BLOCK)
    assert max(Counter(hosts.values()).values()) <= 2
    assert set(hosts.values()) <= HOSTS.keys()
