"""Jobs and Pods as short as they can be."""

from __future__ import annotations

from tests.kinds.cluster import Manifest
from tidegate.kinds.names import QUEUE_NAME

POD_SPEC: Manifest = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}


def job(namespace: str, name: str = "train", *, queue: str = "") -> Manifest:
    """Return a Job that is not suspended, with a queue if one is named."""
    metadata: Manifest = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata | ({"labels": {QUEUE_NAME: queue}} if queue else {}),
        "spec": {"template": {"spec": POD_SPEC}},
    }


def pod(namespace: str, *, queue: str = "", **spec: object) -> Manifest:
    """Return a Pod, with a queue if one is named."""
    metadata: Manifest = {"name": "single", "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | ({"labels": {QUEUE_NAME: queue}} if queue else {}),
        "spec": POD_SPEC | spec,
    }


def owned(manifest: Manifest, api_version: str, kind: str) -> Manifest:
    """Return an object as the child of a controller of this kind."""
    owner = {
        "apiVersion": api_version,
        "kind": kind,
        "name": "parent",
        "uid": "9f6c0d3c-6a51-4bb5-8e0b-6f3b7a8f2d11",
        "controller": True,
    }
    return manifest | {"metadata": manifest["metadata"] | {"ownerReferences": [owner]}}
