"""Rights over the kinds that a configuration enables beyond the default ones, as ClusterRoles.

``deploy/rbac/roles.yaml`` has what every installation needs. Each enabled kind adds the rights
that it needs; other kinds' pods and custom resources cannot be touched.
"""

from __future__ import annotations

from tidegate.kinds.policies.forms import Manifest
from tidegate.kinds.policies.frameworks import Framework, chosen, declared_framework
from tidegate.kinds.policies.templates.serving_kinds import served
from tidegate.kinds.rights.people import job_people
from tidegate.model.declaration import Declaration

_RBAC = "rbac.authorization.k8s.io"
_DEFAULT = "batch/job"
_LABELS = {"app.kubernetes.io/part-of": "tidegate"}


def kind_roles(
    frameworks: tuple[str, ...],
    declared: tuple[Declaration, ...] = (),
    *,
    devices: bool = False,
) -> list[Manifest]:
    """Return the roles and their bindings, and those for people over declared kinds.

    Empty if the default ones suffice.

    ``devices``: device classes are charged, so claims' templates are looked at.
    """
    kinds = [kind for kind in chosen(frameworks) if kind.name != _DEFAULT]
    kinds += map(declared_framework, declared)
    pods, sets = (
        "pod" in frameworks,
        [serving for serving in served(frameworks) if serving.stands_for_pods],
    )
    looks = [
        _rule(kind.group, resource, "list", "watch")
        for kind in kinds
        for resource in (kind.resource, *kind.looks_at)
    ]
    acts = [rule for kind in kinds for rule in _acting(kind)]
    looks += [
        _rule(serving_set.group, serving_set.resource, "list", "watch") for serving_set in sets
    ]
    acts += [
        rule for serving_set in sets for rule in _writing(serving_set.group, serving_set.resource)
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
    roles = _role("tidegate-ingest", looks) if looks else []
    roles += _role("tidegate-actuator", acts) if acts else []
    return [*roles, *job_people(map(declared_framework, declared))]


def _acting(kind: Framework) -> list[Manifest]:
    return [
        *_writing(kind.group, kind.resource),
        *(_rule(kind.group, resource, "get") for resource in kind.looks_at),
    ]


def _writing(group: str, resource: str) -> list[Manifest]:
    # A Workload's owner reference blocks the owner's deletion: a right over its finalizers.
    return [
        _rule(group, resource, "get", "patch", "delete"),
        _rule(group, f"{resource}/finalizers", "update"),
    ]


def _rule(group: str, resource: str, *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _role(account: str, rules: list[Manifest]) -> list[Manifest]:
    metadata = {"name": f"{account}-kinds", "labels": _LABELS}
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
