"""Queues and Jobs of the end-to-end tests, and what is waited for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from tidegate.cli.ledger.reading import open_reader
from tidegate.cluster.install import apply
from tidegate.contracts import facts
from tidegate.contracts.codec import decode
from tidegate.errors import ApiStatusError
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi, Response

KUEUE = "kueue.x-k8s.io/v1beta2"
Object = dict[str, Any]
Event = TypeVar("Event", bound=facts.Event)


async def make_queues(api: KubernetesApi, quotas: dict[str, str], cohort: str = "") -> None:
    """Create a flavor, and for each namespace a ClusterQueue and a LocalQueue of its name."""
    await apply(api, {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}})
    for name, cpu in quotas.items():
        quota = {"name": "cpu", "nominalQuota": cpu}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
        spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
        spec |= {"cohortName": cohort} if cohort else {}
        local: Object = {"name": name, "namespace": name}
        for made in (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
            {
                "apiVersion": KUEUE,
                "kind": "LocalQueue",
                "metadata": local,
                "spec": {"clusterQueue": name},
            },
        ):
            await apply(api, made)


async def submit(  # noqa: PLR0913 - what differs by test
    api: KubernetesApi, namespace: str, name: str, *, cpu: str, seconds: float, queue: str = ""
) -> None:
    """Create a Job in a queue; in that of the namespace's name, if none is named."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue or namespace}},
        "spec": {"template": template},
    }
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    answer = await api.request("POST", path, body=msgspec.json.encode(job))
    assert answer.status == 201, answer.body


async def define(api: KubernetesApi, obj: Object) -> None:
    """Apply an object, as soon as the API server serves its kind, whose CRD may be new."""

    async def is_served() -> bool:
        try:
            await apply(api, obj)
        except ApiStatusError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    await until(is_served, f"{obj['kind']} is served")


async def post(api: KubernetesApi, path: str, obj: Object) -> Response:
    """Ask for a new object; a policy knows a kind only some seconds after its definition (503)."""
    async with asyncio.timeout(60):
        while True:
            answer = await api.request("POST", path, body=msgspec.json.encode(obj))
            if answer.status != 503:
                return answer
            await asyncio.sleep(0.2)


async def job_of(api: KubernetesApi, namespace: str, name: str) -> Object:
    """Return a Job as the API server has it."""
    answer = await api.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
    document: Object = msgspec.json.decode(answer.body)
    return document


async def remove(api: KubernetesApi, namespace: str, name: str) -> None:
    """Delete a Job and, behind it, its pods."""
    body = msgspec.json.encode({"propagationPolicy": "Background"})
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    answer = await api.request("DELETE", path, body=body)
    assert answer.status == 200, answer.body


async def unsuspend(api: KubernetesApi, namespace: str, name: str) -> None:
    """Start a Job as a user does by hand, without a word to Tidegate."""
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
    body = msgspec.json.encode({"spec": {"suspend": False}})
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status == 200, answer.body


async def eventually(holds: Callable[[], bool], what: str, patience_s: float = 120.0) -> None:
    """Wait until a condition holds; fail with what was waited for."""
    try:
        async with asyncio.timeout(patience_s):
            while not holds():
                await asyncio.sleep(0.05)
    except TimeoutError:
        message = f"not within {patience_s:.0f} s: {what}"
        raise AssertionError(message) from None


async def until(holds: Callable[[], Awaitable[bool]], what: str, patience_s: float = 120.0) -> None:
    """Wait until the API server says so; fail with what was waited for."""
    try:
        async with asyncio.timeout(patience_s):
            while not await holds():
                await asyncio.sleep(0.2)
    except TimeoutError:
        message = f"not within {patience_s:.0f} s: {what}"
        raise AssertionError(message) from None


def events_of(ledger: str, kind: type[Event]) -> list[Event]:
    """Return the events of one type that a ledger holds."""
    with open_reader(ledger) as reader:
        events = [decode(entry.payload) for entry in reader.entries()]
    return [event for event in events if isinstance(event, kind)]


def tidegate(*arguments: str) -> str:
    """Run a command of tidegate's own and return what it printed; it must say yes."""
    command = [sys.executable, "-m", "tidegate.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
