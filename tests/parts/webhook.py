"""A real ``tidegate webhook`` beside an API server, in place of the mutating policies."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.parts.kubernetes import DEADLINE_S
from tidegate.cluster.install import apply
from tidegate.cluster.processes import Process, is_alive, last_lines, spawn, stop
from tidegate.kinds.policies.webhooks import (
    NAMESPACE,
    WEBHOOK,
    is_mutating,
    webhook_configuration,
)
from tidegate.kube.ports import KubernetesApi
from tidegate.ports import free_ports
from tidegate.service.config.configuration import SPARK_GATE

Object = dict[str, Any]
LISTENING = "Serving the webhook at"


def configuration(folder: Path, frameworks: Sequence[str]) -> Path:
    """Write Kueue's Configuration with these kinds enabled; return its path."""
    path = folder / "kueue.yaml"
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    fields = {"integrations": {"frameworks": frameworks}, "featureGates": {SPARK_GATE: True}}
    path.write_bytes(msgspec.json.encode({**head, **fields}))
    return path


async def install_webhook(api: KubernetesApi, manifests: Sequence[Object], port: int) -> None:
    """Apply manifests with a webhook on loopback in place of the mutating policies."""
    await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    await prepare_webhook(api, manifests, port, NAMESPACE)
    for manifest in manifests:
        if not is_mutating(manifest):
            await apply(api, manifest)


async def prepare_webhook(
    api: KubernetesApi, manifests: Sequence[Object], port: int, namespace: str
) -> None:
    """Make its Secret, and its configuration with URLs: no service leads out of this server.

    Another namespace than the usual one is part of the configuration's name.
    """
    metadata = {"name": named(namespace), "namespace": namespace}
    await apply(api, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    made = webhook_configuration(manifests)
    asked = [
        {
            **candidate_webhook,
            "clientConfig": {"url": f"https://127.0.0.1:{port}{_path(candidate_webhook)}"},
        }
        for candidate_webhook in made["webhooks"]
    ]
    called = {**made["metadata"], "name": named(namespace)}
    await apply(api, {**made, "metadata": called, "webhooks": asked})


def named(namespace: str) -> str:
    """Return how the configuration and the Secret are called that belong to a namespace."""
    return WEBHOOK if namespace == NAMESPACE else f"{WEBHOOK}-{namespace}"


@contextmanager
def webhook(
    kubeconfig: str, config: Path, folder: Path, port: int, namespace: str = NAMESPACE
) -> Generator[Process]:
    """Run the webhook, which everything it needs is there for, until the block ends."""
    command = [sys.executable, "-m", "tidegate.cli.main", "webhook", f"--config={config}"]
    place = [f"--kubeconfig={kubeconfig}", f"--port={port}", "--certify=127.0.0.1"]
    own = [f"--namespace={namespace}", f"--name={named(namespace)}"]
    process = spawn("webhook", [*command, *place, *own], folder / "webhook.log")
    try:
        deadline = time.monotonic() + DEADLINE_S
        while LISTENING not in last_lines(process):
            assert is_alive(process), last_lines(process)
            assert time.monotonic() < deadline, last_lines(process)
            time.sleep(0.05)
        yield process
    finally:
        stop(process)


def free_port() -> int:
    """Return a port of loopback that no process listens on."""
    return free_ports(1)[0]


def _path(webhook_: Object) -> str:
    return str(webhook_["clientConfig"]["service"]["path"])
