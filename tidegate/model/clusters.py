"""Names of what lies in a member cluster: "<name>@<cluster>"; without "@" the ledger's own cluster.

No name, namespace, uid or resource of Kubernetes holds an "@", so none can pass for another
cluster's.
"""

from __future__ import annotations

from tidegate.model.quota import StopPolicy

AT = "@"
KINDS = frozenset({"batch/job", "jobset.x-k8s.io/jobset", "pod", "pod-group"})
"""The kinds whose jobs a member cluster may bring into the ledger."""
RESOURCES = frozenset({"jobs.batch", "jobsets.jobset.x-k8s.io", "pods"})
"""Theirs: a member's lists and removals of others say nothing, but for its Namespaces'."""
PLACEABLE = frozenset({"batch/job", "jobset.x-k8s.io/jobset"})
"""Of these, the kinds whose jobs can run as a copy: ``spec.managedBy`` keeps them still at home."""
NAMESPACES = "namespaces"
MEMBERS_MAX = 64


def cluster_of(name: str) -> str:
    """Return the member cluster that a name lies in; empty: the ledger's own cluster."""
    return name.rpartition(AT)[2] if AT in name else ""


def local(name: str) -> str:
    """Return a name as its own cluster has it."""
    return name.rpartition(AT)[0] if AT in name else name


def qualified(name: str, cluster: str) -> str:
    """Return a name with its cluster; as it is if that is empty or the ledger's own."""
    return f"{name}{AT}{cluster}" if cluster else name


def strictest(policies: list[StopPolicy]) -> StopPolicy:
    """Return the stop policy that stops most."""
    if "HoldAndDrain" in policies:
        return "HoldAndDrain"
    return "Hold" if "Hold" in policies else "None"
