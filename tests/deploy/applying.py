"""Manifests sent to a real API server as kubectl's server-side apply sends them, strictly."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from tests.deploy.rendering import Object, Objects
from tests.parts.patches import APPLY_PATCH
from tidegate.kube.ports import KubernetesApi

_OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
MONITORS = {
    ("ServiceMonitor", "servicemonitors"): {"selector": {"type": "object"}},
    ("PrometheusRule", "prometheusrules"): {"groups": {"type": "array", "items": _OPEN}},
}
"""Kinds of the Prometheus operator that are used, and a field of each; the rest is left open."""
SERVED_S = 60


async def apply_all(api: KubernetesApi, objects: Objects) -> None:
    """Apply what others stand on, then try all by a dry run, then apply all.

    Raises:
        AssertionError: the server refused one, or warns of a field that it does not know.
    """
    paths = _Paths(api)
    for first in (True, False):
        for (kind, _), fields in objects.items():
            if (kind in {"Namespace", "CustomResourceDefinition"}) is first:
                await _send(api, await paths.of(fields), fields, dry=not first)
    for fields in objects.values():
        await _send(api, await paths.of(fields), fields, dry=False)


async def apply_monitor_kinds(api: KubernetesApi) -> None:
    """Make the kinds of the Prometheus operator known, as far as the manifests use them."""
    paths = _Paths(api)
    for (kind, plural), fields in MONITORS.items():
        spec: Object = {"properties": fields, **_OPEN}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
        crd = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.monitoring.coreos.com"},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                "versions": [version],
            },
        }
        await _send(api, await paths.of(crd), crd, dry=False)


async def try_pod(api: KubernetesApi, namespace: str, template: Object) -> None:
    """Have the server judge a pod of a template as it would admit it; nothing is made."""
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**pod["metadata"], "name": "tried", "namespace": namespace}
    # The server fills in what a claim's template gives.
    volumes: list[Any] = pod["spec"].get("volumes", [])
    pod["spec"] = {**pod["spec"], "volumes": [*volumes, {"name": "state", "emptyDir": {}}]}
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    path = f"/api/v1/namespaces/{namespace}/pods"
    answer = await api.request("POST", path, query=query, body=msgspec.json.encode(pod))
    assert answer.status == 201, answer.body


class _Paths:
    """Where objects of each kind live, as the server's discovery says."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._known = dict[tuple[str, str], str]()

    async def of(self, obj: Object) -> str:
        version, kind = obj["apiVersion"], obj["kind"]
        async with asyncio.timeout(SERVED_S):
            while (version, kind) not in self._known:
                await self._discover(version)
                await asyncio.sleep(0 if (version, kind) in self._known else 0.1)
        metadata = obj["metadata"]
        room = self._known[version, kind].format(metadata.get("namespace", "default"))
        return f"{room}/{metadata['name']}"

    async def _discover(self, version: str) -> None:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        answer = await self._api.request("GET", root)
        if answer.status != 200:  # a CRD that was just applied is served in a moment
            return
        for row in msgspec.json.decode(answer.body)["resources"]:
            inside = "/namespaces/{}" if row["namespaced"] else ""
            if "/" not in row["name"]:
                self._known[version, row["kind"]] = f"{root}{inside}/{row['name']}"


async def _send(api: KubernetesApi, path: str, obj: Object, *, dry: bool) -> None:
    # By kubectl's name: what kubectl itself applies to the same server afterwards would conflict.
    query = {"fieldManager": "kubectl", "force": "true", "fieldValidation": "Strict"}
    query |= {"dryRun": "All"} if dry else {}
    body = msgspec.json.encode(obj)
    answer = await api.request("PATCH", path, query=query, body=body, content_type=APPLY_PATCH)
    assert answer.status in {200, 201}, f"{path}: {answer.body.decode()}"
