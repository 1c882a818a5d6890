"""A real API server in the words of these tests: manifests in, answers out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tests.parts.patches import APPLY_PATCH
from tidegate.cluster.install import read_documents
from tidegate.kinds.kueue_api.v1beta2 import KINDS
from tidegate.kinds.names import GROUP
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

Manifest: TypeAlias = dict[str, Any]
DATA = Path(__file__).parent
_STRICT = {"fieldValidation": "Strict"}
_DRY = {"dryRun": "All"}
_PLURALS = {kind.name: kind.plural for kind in KINDS} | {
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "Job": "jobs",
    "LeaderWorkerSet": "leaderworkersets",
    "Pod": "pods",
    "JobSet": "jobsets",
    "Namespace": "namespaces",
    "MPIJob": "mpijobs",
    "PyTorchJob": "pytorchjobs",
    "RayService": "rayservices",
    "StatefulSet": "statefulsets",
    "CustomResourceDefinition": "customresourcedefinitions",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


class Answer(msgspec.Struct, frozen=True):
    """What the API server said: an object, or why not."""

    status: int
    body: Manifest

    @property
    def message(self) -> str:
        """Return the refusal's sentence, empty if it was none."""
        return str(self.body.get("message", "")) if self.status >= 400 else ""


class Cluster:
    """Requests of manifests to one API server."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    async def create(self, manifest: Manifest, *, dry: bool = False) -> Answer:
        """Make an object; unknown fields are refused, as kubectl asks for."""
        query = _STRICT | (_DRY if dry else {})
        return await self._send("POST", collection(manifest), query, manifest)

    async def replace(self, manifest: Manifest) -> Answer:
        """Put an object in place of the one that is there."""
        known = (await self.get(manifest)).body["metadata"]["resourceVersion"]
        versioned = manifest | {"metadata": manifest["metadata"] | {"resourceVersion": known}}
        return await self._send("PUT", place(manifest), _STRICT, versioned)

    async def merge(self, manifest: Manifest, part: Manifest, sub: str = "") -> Answer:
        """Merge fields into an object, or into its ``/status``."""
        return await self._send("PATCH", place(manifest) + sub, {}, part, MERGE_PATCH)

    async def apply(self, manifest: Manifest) -> Answer:
        """Apply a manifest server-side, and take over fields that other managers own."""
        query = {"fieldManager": "tests", "force": "true"}
        return await self._send("PATCH", place(manifest), query, manifest, APPLY_PATCH)

    async def get(self, manifest: Manifest) -> Answer:
        """Read an object at the version that the manifest names."""
        return await self._send("GET", place(manifest), {})

    async def delete(self, manifest: Manifest) -> Answer:
        """Remove an object at once, with what it owns in the background."""
        query = {"propagationPolicy": "Background", "gracePeriodSeconds": "0"}
        return await self._send("DELETE", place(manifest), query)

    async def read_text(self, path: str) -> str:
        """Return what the API server answers on a path that is no object, e.g. ``/metrics``."""
        return (await self._api.request("GET", path)).body.decode()

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Manifest | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        raw = None if body is None else msgspec.json.encode(body)
        response = await self._api.request(
            method, path, query=query, body=raw, content_type=content_type
        )
        try:
            return Answer(response.status, msgspec.json.decode(response.body))
        except msgspec.DecodeError:  # a missing API group answers in plain text
            return Answer(response.status, {"message": response.body.decode()})


def collection(manifest: Manifest) -> str:
    """Return the path under which objects like this one are."""
    version = manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{_PLURALS[manifest['kind']]}"


def place(manifest: Manifest) -> str:
    """Return the path of an object."""
    return f"{collection(manifest)}/{manifest['metadata']['name']}"


def in_version(manifest: Manifest, version: str) -> Manifest:
    """Return a manifest of Kueue's as one of another version."""
    return manifest | {"apiVersion": f"{GROUP}/{version}"}


def documents(path: Path) -> list[Manifest]:
    """Return the documents of a YAML file."""
    return list(read_documents(path.read_text()))


def files(folder: str) -> list[Path]:
    """Return the data files of one folder, in order."""
    return sorted((DATA / folder).rglob("*.yaml"))


def label(path: Path) -> str:
    """Return a data file's name for a test's id."""
    return str(path.relative_to(DATA).with_suffix(""))


async def eventually(holds: Callable[[], Awaitable[str]], within_s: float = 60) -> None:
    """Wait until ``holds`` returns an empty text; fail with the last one at the deadline."""
    deadline = time.monotonic() + within_s
    while problem := await holds():
        assert time.monotonic() < deadline, problem
        await asyncio.sleep(0.1)
