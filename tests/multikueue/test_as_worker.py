"""A Tidegate cluster as a worker of Kueue's manager: what that one does, call by call.

Source: multikueue.md 2.2, 2.5, 2.6, 3.1.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.multikueue.sites import NAMESPACE, QUEUE, Site, until
from tests.multikueue.world import WORKLOADS, Object
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually
from tidegate.kinds.names import IN_USE, PREBUILT_WORKLOAD
from tidegate.model.policy import Policy

ORIGIN = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
COPY = "job-train-8a4b1"


def template(cpu: str) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"annotations": {"simulate/seconds": "30"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def copy(site: Site, name: str = COPY, cpu: str = "1") -> None:
    """Create the copy of a Workload: no owner, no status, and the origin's label."""
    podset = {"name": "main", "count": 1, "template": template(cpu)}
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": dict(ORIGIN)},
        "spec": {"active": True, "queueName": QUEUE, "priority": 0, "podSets": [podset]},
    }
    site.stage.make(WORKLOADS, made)


def send(site: Site, *, label: bool = False, cpu: str = "1") -> None:
    """Create the job on the worker that admitted its copy."""
    meta: Object = {"name": "train", "namespace": NAMESPACE, "labels": dict(ORIGIN)}
    meta["labels"]["kueue.x-k8s.io/queue-name"] = QUEUE
    meta["labels" if label else "annotations"] = {
        **meta.get("labels" if label else "annotations", {}),
        PREBUILT_WORKLOAD: COPY,
    }
    made = {"metadata": meta, "spec": {"suspend": True, "template": template(cpu)}}
    site.stage.make(JOBS, made)


def withdraw(site: Site, *, job: bool = True) -> None:
    """Take both away: the job first, then the copy without its finalizer."""
    if job:
        site.stage.remove(f"{JOBS}/train")
    found = site.stage.read(f"{WORKLOADS}/{COPY}")
    others = [one for one in found["metadata"].get("finalizers", []) if one != IN_USE]
    site.stage.change(f"{WORKLOADS}/{COPY}", {"metadata": {"finalizers": others}})
    site.stage.remove(f"{WORKLOADS}/{COPY}")


def condition(site: Site, kind: str, name: str = COPY) -> Object:
    found = [one for one in site.items(WORKLOADS) if one["metadata"]["name"] == name]
    told = found[0].get("status", {}).get("conditions", []) if found else []
    return next((one for one in told if one["type"] == kind and one["status"] == "True"), {})


def job(site: Site) -> Object:
    found = site.items(JOBS)
    return found[0] if found else {"spec": {}, "status": {}}


@asynccontextmanager
async def admitted(cpu: str = "1") -> AsyncGenerator[Site]:
    """Run a worker of so much CPU that has admitted a copy, with no job there."""
    site = Site("w1", Policy())
    site.fill(cpu)
    async with alongside(site.run()):
        copy(site)
        await until(lambda: condition(site, "Admitted"), "it is admitted with no job there")
        yield site


@pytest.mark.parametrize("label", [False, True], ids=["annotation", "label"])
def test_a_copy_is_admitted_without_a_job_and_runs_the_one_that_comes(*, label: bool) -> None:
    async def live() -> None:
        async with admitted() as site:
            send(site, label=label)
            await until(lambda: job(site)["status"].get("active") == 1, "the job runs")
            assert job(site)["spec"]["suspend"] is False
            await until(lambda: condition(site, "Finished"), "the copy is finished with its job")
            assert condition(site, "Finished")["reason"] == "Succeeded"
            withdraw(site)
            await until(lambda: not site.items(WORKLOADS), "nothing is left")
            copy(site, "next")
            await until(lambda: condition(site, "Admitted", "next"), "its quota is free")

    run_virtually(live())


def test_a_copy_that_its_manager_evicts_is_evicted_and_its_job_suspended() -> None:
    async def live() -> None:
        async with admitted() as site:
            send(site)
            await until(lambda: job(site)["status"].get("active") == 1, "the job runs")
            held = site.stage.read(f"{WORKLOADS}/{COPY}")["status"]["conditions"]
            target = {
                "type": "DeactivationTarget",
                "status": "True",
                "reason": "EvictedOnManagerCluster",
                "message": "Evicted on manager: preempted",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            status = {"status": {"conditions": [*held, target]}}
            site.stage.change(f"{WORKLOADS}/{COPY}/status", status)
            await until(lambda: condition(site, "Evicted"), "it is evicted")
            await until(lambda: job(site)["spec"]["suspend"], "its job is suspended")
            await until(lambda: not condition(site, "QuotaReserved"), "its quota is free")
            withdraw(site)
            await until(lambda: not site.items(WORKLOADS), "nothing is left")

    run_virtually(live())


def test_a_job_that_asks_for_something_else_ends_its_copy_out_of_sync() -> None:
    async def live() -> None:
        async with admitted("4") as site:
            send(site, cpu="2")
            await until(lambda: condition(site, "Finished"), "the copy is finished")
            told = condition(site, "Finished")
            assert told["reason"] == "OutOfSync"
            said = "The prebuilt workload is out of sync with its user job"
            assert told["message"].startswith(said)
            assert job(site)["spec"]["suspend"] is True

    run_virtually(live())


def test_a_copy_that_another_cluster_won_is_withdrawn_and_its_quota_is_free() -> None:
    async def live() -> None:
        async with admitted() as site:
            withdraw(site, job=False)
            copy(site, "next")
            await until(lambda: condition(site, "Admitted", "next"), "its quota is free")

    run_virtually(live())
