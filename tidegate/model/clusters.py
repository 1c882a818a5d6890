"""Names in member clusters: "<name>@<cluster>"; names without "@" are in the ledger's own cluster.

No name, namespace, uid or resource of Kubernetes contains "@", so none can be mistaken for another
cluster's.
"""

from __future__ import annotations

from tidegate.model.quota import StopPolicy

AT = "@"
KINDS = frozenset({"batch/job", "jobset.x-k8s.io/jobset", "pod", "pod-group"})
"""The job kinds of member clusters that are in the ledger."""
RESOURCES = frozenset({"jobs.batch", "jobsets.jobset.x-k8s.io", "pods"})
"""The resources of these kinds: of a member's other resources only Namespaces count."""
PLACEABLE = frozenset({"batch/job", "jobset.x-k8s.io/jobset"})
"""The kinds whose jobs can run as a copy: ``spec.managedBy`` keeps them suspended at home."""
NAMESPACES = "namespaces"
MEMBERS_MAX = 64


def cluster_of(name: str) -> str:
    """Return the member cluster in a name; empty: the ledger's own cluster."""
    return name.rpartition(AT)[2] if AT in name else ""


def local_name(name: str) -> str:
    """Return a name without its cluster."""
    return name.rpartition(AT)[0] if AT in name else name


def qualified(name: str, cluster: str) -> str:
    """Return a name with its cluster; unchanged if ``cluster`` is empty: the ledger's own."""
    return f"{name}{AT}{cluster}" if cluster else name


def strictest_policy(policies: list[StopPolicy]) -> StopPolicy:
    """Return the strictest of stop policies."""
    if "HoldAndDrain" in policies:
        return "HoldAndDrain"
    return "Hold" if "Hold" in policies else "None"
