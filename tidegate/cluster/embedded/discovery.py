"""What a client learns about the server before its first real request."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.cluster.embedded.resources import Catalog, Resource

Object = dict[str, Any]
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_STATUS_VERBS = ["get", "patch", "update"]
VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+tidegate-embedded",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "",
    "goVersion": "",
    "compiler": "python",
    "platform": "any",
}
_TEXTS = ("/healthz", "/livez", "/readyz")


def discover(catalog: Catalog, path: str) -> bytes | None:
    """Return the document at a path of discovery, or None where the path is none."""
    if path in _TEXTS:
        return b"ok"
    document = _document(catalog, path.strip("/").split("/"))
    return None if document is None else msgspec.json.encode(document)


def _document(catalog: Catalog, parts: list[str]) -> Object | None:
    match parts:
        case ["version"]:
            return VERSION
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = dict.fromkeys(row.group for row in catalog.all() if row.group)
            return {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(catalog, g) for g in groups],
            }
        case ["apis", group]:
            found = any(row.group == group for row in catalog.all())
            return (
                {"kind": "APIGroup", "apiVersion": "v1", **_group(catalog, group)}
                if found
                else None
            )
        case ["api", version]:
            return _resources(catalog, "", version)
        case ["apis", group, version]:
            return _resources(catalog, group, version)
        case _:
            return None


def _group(catalog: Catalog, group: str) -> Object:
    versions = dict.fromkeys(row.version for row in catalog.all() if row.group == group)
    named = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    preferred = {row.stored_version for row in catalog.all() if row.group == group}
    first = next((row for row in named if row["version"] in preferred), named[0])
    return {"name": group, "versions": named, "preferredVersion": first}


def _resources(catalog: Catalog, group: str, version: str) -> Object | None:
    rows = [row for row in catalog.all() if (row.group, row.version) == (group, version)]
    if not rows:
        return None
    resources = [told for row in rows for told in _rows(row)]
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": rows[0].api_version}
    return head | {"resources": resources}


def _rows(row: Resource) -> list[Object]:
    told: Object = {"name": row.plural, "singularName": row.kind.lower(), "kind": row.kind}
    told |= {"namespaced": row.namespaced, "verbs": _VERBS}
    if row.short_names:
        told["shortNames"] = list(row.short_names)
    if not row.status:
        return [told]
    status = {"name": f"{row.plural}/status", "singularName": "", "kind": row.kind}
    return [told, status | {"namespaced": row.namespaced, "verbs": _STATUS_VERBS}]
