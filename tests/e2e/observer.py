"""An outside observer: it watches Jobs and Pods, reads no ledger, and notes what must not be.

Two promises are judged from the cluster alone: no pod of a queued Job runs while its Job is
suspended or unmarked, and no flavor's pods together ask for more than its quota. Both are allowed
for as long as a repair may take. While the API server is away nothing is judged: what is not seen
is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.answers import status_message
from tidegate.kube.ports import KubernetesApi
from tidegate.model.quantity import amount

QUEUE, DECISION = "kueue.x-k8s.io/queue-name", "tidegate.dev/decision"
LIVE = {"Pending", "Running"}
JOBS, PODS = "/apis/batch/v1/jobs", "/api/v1/pods"
REPAIR_S = 15.0
"""How long a promise may be broken before it counts: what differs is ordered again after ten."""


class Observer:
    """Keeps the newest Job and Pod of each name, and how long each promise has been broken."""

    def __init__(self, api: KubernetesApi, namespaces: Collection[str], quota_milli: int) -> None:
        self.api, self.namespaces, self.quota_milli = api, namespaces, quota_milli
        self.jobs: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.broken_since_s: dict[str, float] = {}
        self.violations: list[str] = []
        self.seen: set[str] = set()  # what is watched now
        self.most_milli = 0

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(JOBS, self.jobs))
            tasks.create_task(self._follow(PODS, self.pods))
            tasks.create_task(self._judge())

    def completed(self) -> int:
        """Return how many Jobs have the condition Complete."""
        return sum(_is(job, "Complete") for job in self.jobs.values())

    def incomplete(self) -> dict[str, dict[str, Any]]:
        """Return the Jobs that do not have the condition Complete."""
        return {name: job for name, job in self.jobs.items() if not _is(job, "Complete")}

    async def _follow(self, path: str, known: dict[str, dict[str, Any]]) -> None:
        while True:
            try:
                await self._see(path, known)
            except (ApiUnreachableError, ApiStatusError):
                await asyncio.sleep(0.2)
            finally:
                self.seen.discard(path)

    async def _see(self, path: str, known: dict[str, dict[str, Any]]) -> None:
        answer = await self.api.request("GET", path)
        if answer.status != HTTPStatus.OK:
            raise ApiStatusError(answer.status, status_message(answer.body))
        listed = msgspec.json.decode(answer.body)
        known.clear()
        known.update({_name(obj): obj for obj in listed["items"] if self._is_ours(obj)})
        version = listed["metadata"]["resourceVersion"]
        query = {"resourceVersion": version, "timeoutSeconds": "120"}
        async with self.api.watch(path, query) as lines:
            self.seen.add(path)
            async for line in lines:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    break
                if event["type"] != "BOOKMARK" and self._is_ours(event["object"]):
                    _note(known, event)

    def _is_ours(self, obj: dict[str, Any]) -> bool:
        return obj["metadata"]["namespace"] in self.namespaces

    async def _judge(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.1)
            sees = self.seen == {JOBS, PODS}
            broken = {*self._unadmitted(), *self._over_quota()} if sees else set[str]()
            self.broken_since_s = {
                what: self.broken_since_s.get(what, loop.time()) for what in sorted(broken)
            }
            for what, since_s in self.broken_since_s.items():
                if loop.time() - since_s > REPAIR_S and what not in self.violations:
                    self.violations.append(what)

    def _unadmitted(self) -> list[str]:
        running = {_owner(pod) for pod in self.pods.values() if pod["status"]["phase"] in LIVE}
        return [
            f"{name} runs unadmitted"
            for name, job in self.jobs.items()
            if QUEUE in job["metadata"].get("labels", {}) and name in running and not _admitted(job)
        ]

    def _over_quota(self) -> list[str]:
        used = sum(
            amount("cpu", container["resources"]["requests"]["cpu"])
            for pod in self.pods.values()
            if pod["status"]["phase"] in LIVE and "deletionTimestamp" not in pod["metadata"]
            for container in pod["spec"]["containers"]
        )
        self.most_milli = max(self.most_milli, used)
        return ["the flavor is above its quota"] if used > self.quota_milli else []


def _note(known: dict[str, dict[str, Any]], event: dict[str, Any]) -> None:
    obj = event["object"]
    if event["type"] == "DELETED":
        known.pop(_name(obj), None)
    else:
        known[_name(obj)] = obj


def _name(obj: dict[str, Any]) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _owner(pod: dict[str, Any]) -> str:
    owners = pod["metadata"].get("ownerReferences", [])
    return f"{pod['metadata']['namespace']}/{owners[0]['name']}" if owners else ""


def _is(job: dict[str, Any], condition: str) -> bool:
    current_conditions = job.get("status", {}).get("conditions", [])
    return any(
        each["type"] == condition and each["status"] == "True" for each in current_conditions
    )


def _admitted(job: dict[str, Any]) -> bool:
    marked = DECISION in job["metadata"].get("annotations", {})
    return _is(job, "Complete") or (marked and not job["spec"].get("suspend", False))
