"""Workloads made directly, and what people do to them and to their queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.cast import KUEUE, Object, until
from tests.e2e.ordeal import alone
from tidegate.cluster.running import RunOptions
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

GROUP = f"/apis/{KUEUE}"


class Living:
    """The Workloads of one namespace, whose LocalQueue and ClusterQueue have its name."""

    def __init__(self, api: KubernetesApi, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def path(self, name: str) -> str:
        return f"{GROUP}/namespaces/{self.namespace}/workloads/{name}"

    async def make(
        self,
        name: str,
        *,
        cpu: str = "1",
        pods: int = 1,
        about: Object | None = None,
        **spec: Any,  # noqa: ANN401 - its fields
    ) -> None:
        """Create a Workload of one podset; ``about`` is for its metadata."""
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        podset = {"name": "main", "count": pods, "template": template}
        wanted = {"queueName": self.namespace, "podSets": [podset], **spec}
        head = {
            "apiVersion": KUEUE,
            "kind": "Workload",
            "metadata": {**(about or {}), "name": name},
        }
        body = msgspec.json.encode({**head, "spec": wanted})
        answer = await self.api.request("POST", self.path("").rstrip("/"), body=body)
        assert answer.status == 201, answer.body

    async def change(self, path: str, **value: Any) -> None:  # noqa: ANN401 - any part of an object
        """Merge something into an object."""
        body = msgspec.json.encode(value)
        answer = await self.api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body

    async def wish(self, name: str, **spec: Any) -> None:  # noqa: ANN401 - fields of a spec
        """Change what a Workload's owner wishes."""
        await self.change(self.path(name), spec=spec)

    async def stop_queue(self, kind: str, policy: str) -> None:
        """Set the stop policy of the ClusterQueue or the LocalQueue."""
        inside = f"namespaces/{self.namespace}/" if kind == "localqueues" else ""
        await self.change(f"{GROUP}/{inside}{kind}/{self.namespace}", spec={"stopPolicy": policy})

    async def say(self, name: str, **status: Any) -> None:  # noqa: ANN401 - fields of a status
        """Write into a Workload's status, as its own controller does."""
        await self.change(f"{self.path(name)}/status", status=status)

    async def finish(self, name: str) -> None:
        """Say that a Workload is done."""
        await self.add(name, "Finished", "Succeeded")

    async def add(self, name: str, kind: str, reason: str) -> None:
        """Set a condition that is the owner's to set."""
        held = (await self.read(name))["status"]["conditions"]
        condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": "Its owner says so.",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        others = [condition for condition in held if condition["type"] != kind]
        await self.say(name, conditions=[*others, condition])

    async def delete(self, name: str) -> None:
        answer = await self.api.request("DELETE", self.path(name))
        assert answer.status == 200, answer.body

    async def read(self, name: str) -> Object:
        """Return a Workload; empty if there is none."""
        answer = await self.api.request("GET", self.path(name))
        document: Object = msgspec.json.decode(answer.body)
        return {"status": {}, **document} if answer.status == 200 else {}

    async def shows(self, name: str, *wanted: str) -> None:
        """Wait until a Workload has conditions, each as ``Type=Status Reason``."""

        async def holds() -> bool:
            return set(wanted) <= set(conditions(await self.read(name)))

        await until(holds, f"{name} shows {', '.join(wanted)}")

    async def until(self, name: str, holds: Callable[[Object], bool], what: str) -> None:
        """Wait until a Workload is as it shall be."""

        async def seen() -> bool:
            return holds(await self.read(name))

        await until(seen, f"{name}: {what}")


async def clear(api: KubernetesApi) -> None:
    """Delete what other tests left: every Job and every Workload that holds quota."""
    for path in ("/apis/batch/v1/jobs", f"{GROUP}/workloads"):
        answer = await api.request("GET", path)
        for obj in msgspec.json.decode(answer.body)["items"]:
            namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
            prefix, _, plural = path.rpartition("/")
            options = msgspec.json.encode({"propagationPolicy": "Background"})
            await api.request(
                "DELETE", f"{prefix}/namespaces/{namespace}/{plural}/{name}", body=options
            )


def conditions(obj: Object) -> list[str]:
    """Return the conditions of an object as ``Type=Status Reason``."""
    current_conditions = obj.get("status", {}).get("conditions", ())
    return [
        f"{condition['type']}={condition['status']} {condition['reason']}"
        for condition in current_conditions
    ]


def configured(folder: Path, kubeconfig: str, text: str) -> RunOptions:
    """Return what is to run under a configuration."""
    path = folder / "config.yaml"
    head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    path.write_text(head + text)
    return msgspec.structs.replace(alone(folder, kubeconfig), config=str(path))
