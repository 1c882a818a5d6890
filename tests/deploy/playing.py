"""A pod of the manifests played by processes: its containers' commands, environment and files.

What a cluster would give is given here: addresses, secrets, mounted files, and the token of the
pod's own service account, with which its rights are the manifests' and no others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from tests.deploy.rendering import Object, Objects
from tidegate.cluster.supervisor import Program
from tidegate.kube.ports import KubernetesApi
from tidegate.ports import free_ports

PYTHON = "/opt/tidegate/bin/python"
NAMESPACE = "tidegate-system"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster and its operator would give."""

    folder: Path  # volumes, tokens and logs
    kubeconfig: Path  # whose cluster it is; its user is replaced by the account's token
    secrets: Mapping[tuple[str, str], str] = {}  # Secret and key to value
    instead: Mapping[str, str] = {}  # environment, where a laptop differs from a cluster


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A container as a process, and where it tells how it is."""

    program: Program
    health: str  # base URL; empty: it has none


async def play(
    api: KubernetesApi, objects: Objects, pod: Object, container: Object, given: Given
) -> Played:
    """Return one container of a pod as a process to start."""
    name, spec = container["name"], pod["spec"]
    mounts = _mounted(objects, spec, container, given.folder)
    (port,) = free_ports(1)
    mapping = {
        entry["name"]: _value(entry, mounts, given.secrets) for entry in container.get("env", ())
    }
    mapping |= {"TIDEGATE_HEALTH_PORT": str(port), "TIDEGATE_HEALTH_HOST": "127.0.0.1"}
    kubeconfig = await _kubeconfig(api, spec["serviceAccountName"], given)
    command = container.get("command", [PYTHON, "-m", name])
    assert command[0] == PYTHON
    program = Program(
        name=name,
        command=[sys.executable, *command[1:]],
        environment={**os.environ, **mapping, **given.instead, "KUBECONFIG": str(kubeconfig)},
        log=given.folder / "logs" / f"{name}.log",
    )
    return Played(program=program, health=f"http://127.0.0.1:{port}")


def _mounted(objects: Objects, spec: Object, container: Object, folder: Path) -> dict[str, Path]:
    """Lay out a container's volumes; return where each path of the container is here."""
    sources = {volume["name"]: volume for volume in spec.get("volumes", ())}
    places = dict[str, Path]()
    for mount in container.get("volumeMounts", ()):
        place = folder / "volumes" / mount["name"]
        place.mkdir(parents=True, exist_ok=True)
        name = sources.get(mount["name"], {}).get("configMap", {}).get("name")
        for file, text in objects.get(("ConfigMap", name), {}).get("data", {}).items():
            (place / file).write_text(text)
        places[mount["mountPath"]] = place
    return places


def _value(
    entry: Object, mounts: Mapping[str, Path], secrets: Mapping[tuple[str, str], str]
) -> str:
    source = entry.get("valueFrom", {})
    if "secretKeyRef" in source:
        return secrets[source["secretKeyRef"]["name"], source["secretKeyRef"]["key"]]
    if "fieldRef" in source:
        assert source["fieldRef"] == {"fieldPath": "metadata.name"}
        return "tidegate-0"
    value: str = entry["value"]
    for path, place in mounts.items():
        if value.removeprefix("sqlite:///").startswith(path):
            return value.replace(path, str(place), 1)
    return value


async def _kubeconfig(api: KubernetesApi, account: str, given: Given) -> Path:
    """Write a kubeconfig whose one user is a service account, by a token of the server's own."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    body = msgspec.json.encode({"spec": {"expirationSeconds": 3_600}})
    answer = await api.request("POST", path, body=body)
    assert answer.status == 201, answer.body
    token = msgspec.json.decode(answer.body)["status"]["token"]
    config = yaml.safe_load(given.kubeconfig.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    written = given.folder / f"{account}.kubeconfig"
    written.write_text(yaml.safe_dump(config))
    return written
