"""ClusterRoles for people, by Kueue's names: viewers and editors of each kind, and their sums.

No subject is bound to one. A batch administrator is bound to ``kueue-batch-admin-role``, and
submits jobs in a namespace to ``kueue-batch-user-role``; both collect the others by their labels,
and Kubernetes' own view, edit and admin collect those that a tenant may have.

Source: Kueue's documentation, "Set up RBAC".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.kinds import names
from tidegate.kinds.kueue_api.versions.v1beta2 import KINDS
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import Framework

_RBAC = "rbac.authorization.k8s.io"
_LABELS = {"app.kubernetes.io/part-of": "tidegate"}
_ADMIN, _USER = "rbac.kueue.x-k8s.io/batch-admin", "rbac.kueue.x-k8s.io/batch-user"
_ROLE = "rbac.kueue.x-k8s.io/role"
_TO_VIEW = f"{_RBAC}/aggregate-to-view"
_TO_EDIT = f"{_RBAC}/aggregate-to-edit"
_TO_ADMIN = f"{_RBAC}/aggregate-to-admin"
_IN_NAMESPACES = ("LocalQueue", "Workload")  # the other kinds of Kueue are the cluster's
_VIEW = ("get", "list", "watch")
_EDIT = ("create", "delete", "get", "list", "patch", "update", "watch")


def people(frameworks: Iterable[Framework]) -> list[Manifest]:
    """Return the sums, and the roles of all of Kueue's kinds and of these job kinds."""
    sums = [_sum("batch-admin", _ADMIN), _sum("batch-user", _USER)]
    return [*sums, *_of_kinds(), *job_people(frameworks)]


def job_people(frameworks: Iterable[Framework]) -> list[Manifest]:
    """Return the roles to view and to edit the jobs of each kind."""
    return [role for framework in frameworks for role in _of_jobs(framework)]


def _of_kinds() -> Iterator[Manifest]:
    for kind in KINDS:
        name, resource = kind.name.lower(), kind.plural
        in_namespace = kind.name in _IN_NAMESPACES
        collected = (_USER, _TO_VIEW, _TO_EDIT) if in_namespace else ()
        yield _role(f"{name}-viewer", names.GROUP, resource, _VIEW, _ADMIN, _TO_ADMIN, *collected)
        yield _role(f"{name}-editor", names.GROUP, resource, _EDIT, _ADMIN)


def _of_jobs(framework: Framework) -> Iterator[Manifest]:
    name, place = framework.kind.lower(), (framework.group, framework.resource)
    yield _role(f"{name}-viewer", *place, _VIEW, _ADMIN, _USER, _TO_VIEW, _TO_EDIT, _TO_ADMIN)
    yield _role(f"{name}-editor", *place, _EDIT, _ADMIN, _USER)


def _sum(name: str, label: str) -> Manifest:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"kueue-{name}-role", "labels": dict(_LABELS)},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]},
    }


def _role(
    name: str, group: str, resource: str, verbs: tuple[str, ...], *collected: str
) -> Manifest:
    labels = {**_LABELS, _ROLE: name, **dict.fromkeys(collected, "true")}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"kueue-{name}-role", "labels": labels},
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)},
            {"apiGroups": [group], "resources": [f"{resource}/status"], "verbs": ["get"]},
        ],
    }
