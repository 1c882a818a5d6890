"""Rights over Kueue's objects and over job kinds, as ClusterRoles: for people, and for services.

For people by Kueue's names: viewers and editors of each kind, and their sums. No subject is bound
to one. A batch administrator is bound to ``kueue-batch-admin-role``, and submits jobs in a
namespace to ``kueue-batch-user-role``; both collect the others by their labels, and Kubernetes' own
view, edit and admin collect those that a tenant may have.

For services ``deploy/rbac/roles.yaml`` has what every installation needs. Each enabled kind adds
the rights that it needs; other kinds' pods and custom resources cannot be touched. Of kinds that
are not enabled the actuator looks at objects, to create an Event on those that name a queue:
``deploy/rbac/unqueued.yaml``, which an installation may leave out.

Source: Kueue's documentation, "Set up RBAC".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.kinds import names
from tidegate.kinds.kueue_api.v1beta2 import KINDS
from tidegate.kinds.policies.disabled import QueuedKind
from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import Framework, declared_framework, frameworks_named
from tidegate.kinds.policies.templates.serving_kinds import serving_kinds_named
from tidegate.model.declaration import Declaration

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
_DEFAULT = "batch/job"


def people_roles(frameworks: Iterable[Framework]) -> list[Manifest]:
    """Return the sums, and the roles of all of Kueue's kinds and of these job kinds."""
    sums = [_aggregated_role("batch-admin", _ADMIN), _aggregated_role("batch-user", _USER)]
    return [*sums, *_roles_of_kinds(), *job_people_roles(frameworks)]


def job_people_roles(frameworks: Iterable[Framework]) -> list[Manifest]:
    """Return the roles to view and to edit the jobs of each kind."""
    return [role for framework in frameworks for role in _roles_of_jobs(framework)]


def _roles_of_kinds() -> Iterator[Manifest]:
    for kind in KINDS:
        name, resource = kind.name.lower(), kind.plural
        in_namespace = kind.name in _IN_NAMESPACES
        collected = (_USER, _TO_VIEW, _TO_EDIT) if in_namespace else ()
        yield _role(f"{name}-viewer", names.GROUP, resource, _VIEW, _ADMIN, _TO_ADMIN, *collected)
        yield _role(f"{name}-editor", names.GROUP, resource, _EDIT, _ADMIN)


def _roles_of_jobs(framework: Framework) -> Iterator[Manifest]:
    name, place = framework.kind.lower(), (framework.group, framework.resource)
    yield _role(f"{name}-viewer", *place, _VIEW, _ADMIN, _USER, _TO_VIEW, _TO_EDIT, _TO_ADMIN)
    yield _role(f"{name}-editor", *place, _EDIT, _ADMIN, _USER)


def _aggregated_role(name: str, label: str) -> Manifest:
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


def kind_roles(
    frameworks: tuple[str, ...], declared: tuple[Declaration, ...] = (), *, devices: bool = False
) -> list[Manifest]:
    """Return the roles and their bindings, and those for people over declared kinds.

    Empty if the default ones suffice.

    ``devices``: device classes are charged, so claims' templates are looked at.
    """
    kinds = [kind for kind in frameworks_named(frameworks) if kind.name != _DEFAULT]
    kinds += map(declared_framework, declared)
    pods, sets = (
        "pod" in frameworks,
        [serving for serving in serving_kinds_named(frameworks) if serving.stands_for_pods],
    )
    looks = [
        _rule(kind.group, resource, "list", "watch")
        for kind in kinds
        for resource in (kind.resource, *kind.looks_at)
    ]
    acts = [rule for kind in kinds for rule in _actuator_rules(kind)]
    looks += [
        _rule(serving_set.group, serving_set.resource, "list", "watch") for serving_set in sets
    ]
    acts += [
        rule
        for serving_set in sets
        for rule in _write_rules(serving_set.group, serving_set.resource)
    ]
    if devices:
        looks.append(_rule("resource.k8s.io", "resourceclaimtemplates", "list", "watch"))
    if pods:
        looks.append(_rule("", "pods", "list", "watch"))
        acts.append(_rule("", "pods", "get", "list", "patch", "delete"))
        acts.append(_rule("", "pods/status", "patch"))
        acts.append(_rule("", "pods/finalizers", "update"))
    if sets:
        acts.append(_rule("", "pods", "list", "watch", "patch"))
    roles = _bound_role("tidegate-ingest", "kinds", looks) if looks else []
    roles += _bound_role("tidegate-actuator", "kinds", acts) if acts else []
    return [*roles, *job_people_roles(map(declared_framework, declared))]


def _actuator_rules(kind: Framework) -> list[Manifest]:
    return [
        *_write_rules(kind.group, kind.resource),
        *(_rule(kind.group, resource, "get") for resource in kind.looks_at),
    ]


def _write_rules(group: str, resource: str) -> list[Manifest]:
    # A Workload's owner reference blocks the owner's deletion: a right over its finalizers.
    return [
        _rule(group, resource, "get", "patch", "delete"),
        _rule(group, f"{resource}/finalizers", "update"),
    ]


def _rule(group: str, resource: str, *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def unqueued_role(kinds: Iterable[QueuedKind]) -> list[Manifest]:
    """Return the actuator's role to look at objects of these kinds, and its binding."""
    looks = [_rule(kind.group, kind.resource, "list", "watch") for kind in kinds]
    return _bound_role("tidegate-actuator", "unqueued", looks)


def _bound_role(account: str, purpose: str, rules: list[Manifest]) -> list[Manifest]:
    metadata = {"name": f"{account}-{purpose}", "labels": _LABELS}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "tidegate-system"}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": metadata["name"]}
    return [
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": metadata,
            "rules": rules,
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]
