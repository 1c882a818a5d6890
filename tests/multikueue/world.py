"""A manager and two workers, what is submitted to them, and what is seen of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.multikueue.sites import CHECK, NAMESPACE, QUEUE, Manager, Site, until
from tests.parts.stage import JOBS, KUEUE, alongside
from tidegate.model.multikueue import CONTROLLER, MultiKueuePolicy
from tidegate.model.policy import Policy

Object = dict[str, Any]
WORKLOADS = f"{KUEUE}/namespaces/{NAMESPACE}/workloads"
GROUP = "kueue.x-k8s.io/pod-group-name"
PODS = "/api/v1/namespaces/default/pods"
SENT = MultiKueuePolicy(kinds=("batch/job", "pod", "pod-group"))
POLICY = Policy(multikueue=SENT)


def job(name: str, seconds: int, cpu: str = "1") -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": QUEUE}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"suspend": True, "managedBy": CONTROLLER, "template": template},
    }


def pod(name: str) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": QUEUE, "kueue.x-k8s.io/managed": "true"}
    notes = {"simulate/seconds": "30"}
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": notes}
    gates = [{"name": "kueue.x-k8s.io/admission"}]
    spec = {"restartPolicy": "Never", "containers": [container], "schedulingGates": gates}
    return {"metadata": meta, "spec": spec}


def member(name: str, group: str = "crew", **notes: str) -> Object:
    """Return a pod of a group of two."""
    made = pod(name)
    made["metadata"]["labels"] |= {GROUP: group}
    made["metadata"]["annotations"] |= {"kueue.x-k8s.io/pod-group-total-count": "2", **notes}
    return made


class World:
    """A manager, two workers, and what runs."""

    def __init__(self, policy: Policy = POLICY, quotas: tuple[str, str] = ("1", "4")) -> None:
        self.workers = {name: Site(name, Policy()) for name in ("w1", "w2")}
        for site, quota in zip(self.workers.values(), quotas, strict=True):
            site.fill(quota)
        self.manager = Manager(policy, self.workers)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with (
            alongside(self.workers["w1"].run()),
            alongside(self.workers["w2"].run()),
            alongside(self.manager.run()),
        ):
            yield

    def workload(self, site: Site | None = None) -> Object:
        workloads = (site or self.manager).items(WORKLOADS)
        return workloads[0] if workloads else {}

    def status(self) -> Object:
        fields: Object = self.workload().get("status", {})
        return fields

    async def chosen(self) -> tuple[Site, Site]:
        """Wait until a worker runs the job; return it and the other one."""
        await until(lambda: self.check().get("state") == "Ready", "the check is ready")
        name = self.status()["clusterName"]
        assert self.check()["message"] == f'The workload was admitted on "{name}"'
        return self.workers[name], self.workers["w2" if name == "w1" else "w1"]

    def event_messages(self, reason: str) -> list[str]:
        """Return the messages of the Events of a reason."""
        documents = self.manager.items(f"/api/v1/namespaces/{NAMESPACE}/events")
        return [event["message"] for event in documents if event["reason"] == reason]

    def pod(self, name: str) -> Object:
        pods = self.manager.items(PODS)
        return next((obj for obj in pods if obj["metadata"]["name"] == name), {})

    def check(self) -> Object:
        admission_checks = self.status().get("admissionChecks", [])
        return next((check for check in admission_checks if check["name"] == CHECK), {})

    def job(self, name: str, site: Site | None = None) -> Object:
        jobs = (site or self.manager).items(JOBS)
        return next((obj for obj in jobs if obj["metadata"]["name"] == name), {})

    def holds(self, kind: str) -> bool:
        current_conditions = self.status().get("conditions", [])
        return any(
            condition["type"] == kind and condition["status"] == "True"
            for condition in current_conditions
        )

    def is_clean(self) -> bool:
        paths = (WORKLOADS, JOBS, PODS)
        return not any(site.items(path) for site in self.workers.values() for path in paths)
