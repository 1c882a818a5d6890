"""The forms that every policy has: a policy, and the binding that puts it into force.

``failurePolicy: Ignore`` stands in all of them: what slips past a policy ingest sees, and no error
of ours may stop a cluster from making Jobs and Pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from tidegate.kinds import names
from tidegate.model.podset import LabelSelector

Manifest: TypeAlias = dict[str, Any]
API_VERSION = "admissionregistration.k8s.io/v1"
PREFIX = "tidegate-"
ACCOUNTS = tuple(
    f"system:serviceaccount:tidegate-system:{name}" for name in ("tidegate-actuator", "tidegate")
)
"""Tidegate's own client: its requests are made from types and are exempt from every policy."""
NAMESPACES_LEFT_ALONE = ("kube-system", "tidegate-system")


_KEY_PATTERN = (
    "'^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'"
)
_KEY_LENGTHS = "'^([^/]{1,253}/)?[^/]{1,63}$'"
_DOMAIN_PATH = (
    'r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
    "/[-A-Za-z0-9/._~%!$&'()*+,;=:]+$\""
)
_VALUE_PATTERN = "'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that a policy is about."""

    group: str
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...] = ("CREATE", "UPDATE")

    def rule(self) -> Manifest:
        """Return it as a rule of matchConstraints."""
        return {
            "apiGroups": [self.group],
            "apiVersions": list(self.versions),
            "operations": list(self.operations),
            "resources": list(self.resources),
        }


class Check(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An expression that must hold, and the message if it does not."""

    expression: str
    message: str
    message_expression: str = ""  # of the sentence with index and value; empty: the message


class Param(msgspec.Struct, frozen=True, kw_only=True):
    """An object that a policy looks up; without it the policy does nothing."""

    kind: str
    api_version: str = names.API_VERSION
    name: str = "default"  # empty: each of them in the object's namespace, one after the other


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy is about: requests, conditions by name on top of them, and its parameter."""

    targets: Sequence[Target]
    conditions: dict[str, str] = {}
    param: Param | None = None
    namespaces: LabelSelector | None = None  # of the objects; None: all but the system's
    actions: tuple[str, ...] = ("Deny",)  # of a validation that fails


ANOTHER_WRITES = "another-writes"
"""The first condition of each policy: none is evaluated for what Tidegate's accounts write."""
_OTHERS = f"!(request.userInfo.username in {list(ACCOUNTS)})"


def kueue(resource: str, operations: tuple[str, ...] = ("CREATE", "UPDATE")) -> Target:
    """Return the requests about a resource of Kueue's own, in any served version."""
    return Target(
        group=names.GROUP,
        versions=names.VERSIONS,
        resources=(resource,),
        operations=operations,
    )


def label(key: str, of: str = "object") -> str:
    """Return the expression of a label's value, empty where there is none."""
    return f"{of}.metadata.?labels[?'{key}'].orValue('')"


def annotation(key: str, of: str = "object") -> str:
    """Return the expression of an annotation's value, empty where there is none."""
    return f"{of}.metadata.?annotations[?'{key}'].orValue('')"


def is_label_key(text: str) -> str:
    """Return the condition that a text has the form of a label's key, as resources have, too."""
    return f"{text}.matches({_KEY_PATTERN}) && {text}.matches({_KEY_LENGTHS})"


def is_label_value(text: str) -> str:
    """Return the condition that a text has the form of a label's value."""
    return f"size({text}) <= 63 && {text}.matches({_VALUE_PATTERN})"


def only_removed(key: str, unless: str = "") -> Check:
    """Return the check that the list of names in an annotation loses some or stays as it is."""
    free = f"{unless} || " if unless else ""
    now, before = _split_list(key), _split_list(key, "oldObject")
    return Check(
        f"{free}{annotation(key)} == '' || {now}.all(g, g in {before})",
        f"metadata.annotations[{key}]: names may only be removed",
    )


def are_paths(key: str, unless: str = "") -> Check:
    """Return the check that the names in an annotation's list are paths below domains."""
    free, names = f"{unless} || " if unless else "", _split_list(key)
    return Check(
        f"{free}{annotation(key)}.trim() == ''"
        f" || ({names}.all(g, size(g) <= 63 && g.matches({_DOMAIN_PATH}))"
        f" && {names}.all(g, {names}.exists_one(o, o == g)))",
        f"metadata.annotations[{key}]: each name is a path below a domain, such as"
        " example.com/budget, of 63 characters at most, and is there once",
    )


def _split_list(key: str, of: str = "object") -> str:
    return f"{annotation(key, of)}.split(',').map(n, n.trim())"


def mutating_policy(name: str, scope: Scope, mutations: Sequence[Manifest]) -> list[Manifest]:
    """Return a MutatingAdmissionPolicy and its binding.

    Policies run in no fixed order: what depends on another's outcome stands in the mutation's own
    expression, which is evaluated again when another policy changed the object.
    """
    spec = _scope_fields(scope) | {"reinvocationPolicy": "IfNeeded", "mutations": list(mutations)}
    return [
        _manifest("MutatingAdmissionPolicy", name, spec),
        _manifest("MutatingAdmissionPolicyBinding", name, _binding(name, scope)),
    ]


def validating_policy(
    name: str, scope: Scope, checks: Sequence[Check], variables: dict[str, str] | None = None
) -> list[Manifest]:
    """Return a ValidatingAdmissionPolicy that refuses, and its binding."""
    spec = _scope_fields(scope)
    if variables:
        spec["variables"] = [{"name": key, "expression": v} for key, v in variables.items()]
    spec["validations"] = [msgspec.to_builtins(check) | {"reason": "Invalid"} for check in checks]
    binding = _binding(name, scope) | {"validationActions": list(scope.actions)}
    return [
        _manifest("ValidatingAdmissionPolicy", name, spec),
        _manifest("ValidatingAdmissionPolicyBinding", name, binding),
    ]


def set_text_patch(field: str, key: str, value: str) -> str:
    """Return the JSONPatch list that sets a label or an annotation to an expression's value.

    Merging an Object would need the type's schema, which the API server learns some seconds after
    a CRD came.
    """
    present = f"has(object.metadata.{field})"
    empty = f"[JSONPatch{{op: 'add', path: '/metadata/{field}', value: {{}}}}]"
    path = f"'/metadata/{field}/' + jsonpatch.escapeKey('{key}')"
    return f"({present} ? [] : {empty}) + [JSONPatch{{op: 'add', path: {path}, value: {value}}}]"


def apply_patch(expression: str) -> Manifest:
    """Return the mutation that applies the JSONPatch list of this expression."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def _manifest(kind: str, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": PREFIX + name, "labels": {"app.kubernetes.io/part-of": "tidegate"}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _scope_fields(scope: Scope) -> Manifest:
    spec: Manifest = {"failurePolicy": "Ignore"}
    if scope.param is not None:
        spec["paramKind"] = {"apiVersion": scope.param.api_version, "kind": scope.param.kind}
    spec["matchConstraints"] = _constraints(scope)
    conditions = {ANOTHER_WRITES: _OTHERS, **scope.conditions}
    match_conditions = [{"name": key, "expression": value} for key, value in conditions.items()]
    spec["matchConditions"] = match_conditions
    return spec


def _binding(name: str, scope: Scope) -> Manifest:
    spec: Manifest = {"policyName": PREFIX + name}
    if scope.param is not None:
        # A namespaced paramKind without a namespace is looked up in the object's own namespace.
        which: Manifest = {"name": scope.param.name} if scope.param.name else {"selector": {}}
        spec["paramRef"] = {**which, "parameterNotFoundAction": "Allow"}
    return spec


def _constraints(scope: Scope) -> Manifest:
    return {
        "namespaceSelector": _selector(scope.namespaces),
        "resourceRules": [target.rule() for target in scope.targets],
    }


def _selector(namespaces: LabelSelector | None) -> Manifest:
    """Return a namespaceSelector; the system's namespaces are left alone whatever it selects."""
    excluded: Manifest = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": list(NAMESPACES_LEFT_ALONE),
    }
    if namespaces is None:
        return {"matchExpressions": [excluded]}
    expressions = [
        {"key": expression.key, "operator": expression.operator}
        | ({"values": list(expression.values)} if expression.values else {})
        for expression in namespaces.expressions
    ]
    labels = {"matchLabels": dict(namespaces.labels)} if namespaces.labels else {}
    return {**labels, "matchExpressions": [*expressions, excluded]}
