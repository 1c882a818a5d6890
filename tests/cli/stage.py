"""An embedded cluster for command lines: CRDs, a namespace, a job that waits and one that ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.cli.objects.api_client import ApiClient, open_api
from tidegate.cluster.install import read_manifests
from tidegate.cluster.local import start_cluster, stop_cluster

STAGED = Path(__file__).parent / "given" / "staged.yaml"
DEPLOY = Path(__file__).parents[2] / "deploy"
ROOTS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/localqueues",
    "Workload": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads",
}


def silent(*_: object) -> None:
    """Take progress that no test reads."""


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[str]:
    """Lend the kubeconfig of a cluster with what ``given/staged.yaml`` says."""
    cluster = start_cluster("embedded", tmp_path / "cluster", silent, silent)
    try:
        with open_api(cluster.kubeconfig) as api:
            for manifest in read_manifests(DEPLOY / "crds"):
                if manifest["kind"] in ROOTS:
                    api.request("POST", ROOTS[manifest["kind"]], manifest)
            jobs = dict[str, str]()
            for manifest in yaml.safe_load(STAGED.read_text()):
                put(api, manifest, jobs)
        yield cluster.kubeconfig
    finally:
        stop_cluster(tmp_path / "cluster")


def put(api: ApiClient, obj: dict[str, Any], jobs: dict[str, str]) -> None:
    """Create an object with its status; an owner's uid is that of the job of its name."""
    metadata = obj["metadata"]
    for owner in metadata.get("ownerReferences", ()):
        owner["uid"] = jobs[owner["name"]]
    root = ROOTS[obj["kind"]].format(metadata.get("namespace", ""))
    made = api.request("POST", root, obj)
    if obj["kind"] == "Job":
        jobs[metadata["name"]] = made["metadata"]["uid"]
    if "status" in obj:
        path = f"{root}/{metadata['name']}/status"
        api.request("PATCH", path, {"status": obj["status"]})
