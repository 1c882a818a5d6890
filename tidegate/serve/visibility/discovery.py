"""Discovery documents of the API groups, from which clients learn of resources; open to all users.

The API server requests them by itself, without a user. They contain nothing about workloads.
"""

from __future__ import annotations

from typing import Any

VISIBILITY, READ = "visibility.kueue.x-k8s.io", "read.tidegate.dev"
VERSIONS = {VISIBILITY: ("v1beta1", "v1beta2"), READ: ("v1",)}
SUMMARY, WHY = "PendingWorkloadsSummary", "Why"
_RESOURCES = {
    VISIBILITY: (
        ("clusterqueues", "ClusterQueue", False, ()),
        ("clusterqueues/pendingworkloads", SUMMARY, False, ("get",)),
        ("localqueues", "LocalQueue", True, ()),
        ("localqueues/pendingworkloads", SUMMARY, True, ("get",)),
    ),
    READ: (
        ("workloads", "Workload", True, ()),
        ("workloads/why", WHY, True, ("get",)),
    ),
}
"""Name, kind, whether it is in a namespace, verbs: nothing can be listed, and nothing deleted."""


def api_group_list() -> dict[str, Any]:
    """Return the document of /apis."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [api_group(version) for version in VERSIONS],
    }


def api_group(name: str) -> dict[str, Any]:
    """Return the document of /apis/GROUP; the newest version is preferred."""
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version} for version in VERSIONS[name]
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions[::-1],
        "preferredVersion": versions[-1],
    }


def api_resource_list(name: str, version: str) -> dict[str, Any]:
    """Return the document of /apis/GROUP/VERSION."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}",
        "resources": [
            {
                "name": resource,
                "singularName": "",
                "namespaced": in_namespace,
                "kind": kind,
                "verbs": list(verbs),
            }
            for resource, kind, in_namespace, verbs in _RESOURCES[name]
        ],
    }
