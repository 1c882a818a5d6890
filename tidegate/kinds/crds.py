"""The CustomResourceDefinitions of Kueue's API, made from the types.

v1beta2 is stored, v1beta1 is served with the same schema, and v1alpha1, but for Workloads, answers
every write with a message that names the replacement. Nothing is converted, so no webhook
is needed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from tidegate.kinds.kueue_api.v1beta1_schema import SPELLINGS
from tidegate.kinds.kueue_api.v1beta2 import KINDS, Kind
from tidegate.kinds.names import GROUP, VERSIONS
from tidegate.kinds.schema import Schema, struct_schema

Manifest: TypeAlias = dict[str, Any]
REFUSED = "v1alpha1"
"""Served only to reject writes: fields this old are not read any more."""

_TOO_MANY = ("Workload",)
"""An API server holds all objects once for each served version, and decodes each change as often:
refusing for Workloads too took a seventh of its CPU time and a quarter of its memory."""

_HINTS = {"Cohort": ", and spec.parentName for spec.parent"}


def crds(*, rules: bool = True) -> list[Manifest]:
    """Return the CRD of every kind.

    Without ``rules`` for an API server that has no CEL: what they would refuse is accepted there,
    and v1alpha1, which is one refusal and nothing else, is not served.
    """
    return [_crd(kind, rules=rules) for kind in KINDS]


def _crd(kind: Kind, *, rules: bool) -> Manifest:
    schema = _schema(kind)
    versions = [_version(kind, version, schema) for version in VERSIONS]
    if rules and kind.name not in _TOO_MANY:
        versions.append(_without_old_fields(kind))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/part-of": "tidegate"},
        },
        "spec": {
            "group": GROUP,
            "names": _names(kind),
            "scope": kind.scope,
            "conversion": {"strategy": "None"},
            "versions": versions if rules else [without_rules(version) for version in versions],
        },
    }


def _names(kind: Kind) -> Manifest:
    return {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": list(kind.short_names),
    }


def _schema(kind: Kind) -> Schema:
    schema = struct_schema(kind.type, SPELLINGS)
    properties = schema["properties"] | {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    return schema | {"properties": properties}


def _version(kind: Kind, version: str, schema: Schema) -> Manifest:
    stored = version == VERSIONS[0]
    version_manifest: Manifest = {"name": version, "served": True, "storage": stored}
    if not stored:
        version_manifest |= {
            "deprecated": True,
            "deprecationWarning": f"{GROUP}/{version} {kind.name} is deprecated: "
            f"write {GROUP}/{VERSIONS[0]}.",
        }
    version_manifest["schema"] = {"openAPIV3Schema": schema}
    if kind.status:
        version_manifest["subresources"] = {"status": {}}
    if kind.selectable:
        version_manifest["selectableFields"] = [{"jsonPath": path} for path in kind.selectable]
    version_manifest["additionalPrinterColumns"] = [
        msgspec.to_builtins(column) | {"type": column.type} for column in kind.columns
    ]
    return version_manifest


def _without_old_fields(kind: Kind) -> Manifest:
    message = (
        f"apiVersion {GROUP}/{REFUSED} of {kind.name} is not accepted any more: "
        f"write {GROUP}/{VERSIONS[0]}{_HINTS.get(kind.name, '')}."
    )
    schema: Schema = {
        "description": message,
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": [
            {"rule": "false", "message": message, "fieldPath": ".apiVersion"}
        ],
    }
    document: Manifest = {
        "name": REFUSED,
        "served": True,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": message,
        "schema": {"openAPIV3Schema": schema},
    }
    return document | ({"subresources": {"status": {}}} if kind.status else {})


def without_rules(schema: Any) -> Any:  # noqa: ANN401  # any part of a manifest
    """Return a manifest without the rules of its schemas."""
    match schema:
        case dict():
            return {
                key: without_rules(value)
                for key, value in schema.items()
                if key != "x-kubernetes-validations"
            }
        case list():
            return [without_rules(value) for value in schema]
        case _:
            return schema
