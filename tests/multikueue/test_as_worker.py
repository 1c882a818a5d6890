"""A Tidegate cluster as a worker of Kueue's manager: what that one does, call by call.

Source: multikueue.md 2.2, 2.5, 2.6, 3.1.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from tests.multikueue.sites import NAMESPACE, QUEUE, Site, until
from tests.multikueue.world import PODS, WORKLOADS, Object, member
from tests.parts.stage import JOBS, alongside
from tests.parts.virtual import run_virtually
from tidegate.kinds.names import (
    IN_USE,
    IS_GROUP_WORKLOAD,
    PREBUILT_WORKLOAD,
    ROLE_HASH,
    WORKER_POD,
)
from tidegate.model.policy import Policy

ORIGIN = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
COPY, ROLE = "job-train-8a4b1", "4ebdd4a6"


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


def copy_of_group(site: Site, *, sent: bool) -> None:
    """Create the Workload of a group of two pods: as a manager sends it, or as a user makes one."""
    podset = {"name": ROLE, "count": 2, "template": template("1")}
    marks = {"labels": dict(ORIGIN), "annotations": {IS_GROUP_WORKLOAD: "true"}} if sent else {}
    made = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "crew", "namespace": NAMESPACE, **marks},
        "spec": {"active": True, "queueName": QUEUE, "priority": 0, "podSets": [podset]},
    }
    site.stage.make(WORKLOADS, made)


def send_pods(site: Site, *, sent: bool) -> None:
    """Create the pods of that group, gated as they are in the manager's cluster."""
    for name in ("one", "two"):
        made = member(name, **{PREBUILT_WORKLOAD: "crew", ROLE_HASH: ROLE})
        made["metadata"]["labels"] |= ORIGIN if sent else {}
        site.stage.make(PODS, made)


def withdraw(site: Site, *, job: bool = True) -> None:
    """Take both away: the job first, then the copy without its finalizer."""
    if job:
        site.stage.remove(f"{JOBS}/train")
    obj = site.stage.read(f"{WORKLOADS}/{COPY}")
    others = [
        finalizer for finalizer in obj["metadata"].get("finalizers", []) if finalizer != IN_USE
    ]
    site.stage.change(f"{WORKLOADS}/{COPY}", {"metadata": {"finalizers": others}})
    site.stage.remove(f"{WORKLOADS}/{COPY}")


def condition(site: Site, kind: str, name: str = COPY) -> Object:
    workloads = [
        workload for workload in site.items(WORKLOADS) if workload["metadata"]["name"] == name
    ]
    current_conditions = workloads[0].get("status", {}).get("conditions", []) if workloads else []
    return next(
        (
            candidate_condition
            for candidate_condition in current_conditions
            if candidate_condition["type"] == kind and candidate_condition["status"] == "True"
        ),
        {},
    )


def job(site: Site) -> Object:
    jobs = site.items(JOBS)
    return jobs[0] if jobs else {"spec": {}, "status": {}}


def template_labels(site: Site) -> Object:
    """Return the labels in the template of the job, but those of its controller."""
    labels: Object = job(site)["spec"]["template"]["metadata"].get("labels") or {}
    return {key: value for key, value in labels.items() if "kueue" in key}


def phases(site: Site) -> list[str]:
    return [pod["status"].get("phase", "") for pod in site.items(PODS)]


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
            assert [pod["metadata"]["labels"][WORKER_POD] for pod in site.items(PODS)] == ["true"]
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
            await until(lambda: not template_labels(site), "its template is as it was")
            await until(lambda: not condition(site, "QuotaReserved"), "its quota is free")
            withdraw(site)
            await until(lambda: not site.items(WORKLOADS), "nothing is left")

    run_virtually(live())


def test_a_job_that_asks_for_something_else_ends_its_copy_out_of_sync() -> None:
    async def live() -> None:
        async with admitted("4") as site:
            send(site, cpu="2")
            await until(lambda: condition(site, "Finished"), "the copy is finished")
            fields = condition(site, "Finished")
            assert fields["reason"] == "OutOfSync"
            text = "The prebuilt workload is out of sync with its user job"
            assert fields["message"].startswith(text)
            assert job(site)["spec"]["suspend"] is True

    run_virtually(live())


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "made by a user"])
def test_the_workload_of_a_group_is_admitted_without_pods_and_runs_those_that_come(
    *, sent: bool
) -> None:
    async def live() -> None:
        site = Site("w1", Policy())
        site.fill("2")
        async with alongside(site.run()):
            copy_of_group(site, sent=sent)
            await until(lambda: condition(site, "Admitted", "crew"), "it is admitted")
            send_pods(site, sent=sent)
            await until(lambda: phases(site) == ["Running", "Running"], "both run")
            assert all(
                (WORKER_POD in pod["metadata"]["labels"]) == sent for pod in site.items(PODS)
            )
            owners = site.stage.read(f"{WORKLOADS}/crew")["metadata"]["ownerReferences"]
            assert sorted(owner["name"] for owner in owners) == ["one", "two"]
            assert len(site.items(WORKLOADS)) == 1
            await until(lambda: condition(site, "Finished", "crew"), "it is finished")
            assert condition(site, "Finished", "crew")["reason"] == "Succeeded"

    run_virtually(live())


def test_a_group_of_other_pods_than_its_copy_asks_for_ends_it_out_of_sync() -> None:
    async def live() -> None:
        site = Site("w1", Policy())
        site.fill("2")
        async with alongside(site.run()):
            copy_of_group(site, sent=True)
            await until(lambda: condition(site, "Admitted", "crew"), "it is admitted")
            for name in ("one", "two"):
                site.stage.make(PODS, member(name, **{PREBUILT_WORKLOAD: "crew", ROLE_HASH: "x"}))
            await until(lambda: condition(site, "Finished", "crew"), "it is finished")
            assert condition(site, "Finished", "crew")["reason"] == "OutOfSync"
            assert all(pod["spec"].get("schedulingGates") for pod in site.items(PODS))

    run_virtually(live())


def test_a_copy_that_another_cluster_won_is_withdrawn_and_its_quota_is_free() -> None:
    async def live() -> None:
        async with admitted() as site:
            withdraw(site, job=False)
            copy(site, "next")
            await until(lambda: condition(site, "Admitted", "next"), "its quota is free")

    run_virtually(live())
