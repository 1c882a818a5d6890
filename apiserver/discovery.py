"""Discovery: the groups, versions and resources that a client reads before its first request."""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.resources import Catalog, Resource

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


def discovery_document(catalog: Catalog, path: str) -> bytes | None:
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
        case ["openapi", "v3", *root]:
            return _openapi_of(catalog, "/".join(root)) if root else _openapi(catalog)
        case ["apis", *rest] if len(rest) <= 1:
            return _groups(catalog, *rest)
        case [("api" | "apis"), *group, version] if len(group) <= 1:
            return _resources(catalog, "".join(group), version)
        case _:
            return None


def _groups(catalog: Catalog, group: str = "") -> Object | None:
    names = dict.fromkeys(row.group for row in catalog.all() if row.group)
    if group in names:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalog, group)}
    groups = [_group(catalog, name) for name in names]
    list_of_all = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    return None if group else list_of_all


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
    resources = [resource for row in rows for resource in _resource_entries(row)]
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": rows[0].api_version}
    return head | {"resources": resources}


def _resource_entries(row: Resource) -> list[Object]:
    resource: Object = {"name": row.plural, "singularName": row.kind.lower(), "kind": row.kind}
    resource |= {"namespaced": row.namespaced, "verbs": _VERBS}
    if row.short_names:
        resource["shortNames"] = list(row.short_names)
    if not row.status:
        return [resource]
    status = {"name": f"{row.plural}/status", "singularName": "", "kind": row.kind}
    return [resource, status | {"namespaced": row.namespaced, "verbs": _STATUS_VERBS}]


def _openapi(catalog: Catalog) -> Object:
    """Return where the schemas are: they say only that ``fieldValidation`` is understood."""
    roots = dict.fromkeys(_api_root(row) for row in catalog.all())
    return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}


def _openapi_of(catalog: Catalog, root: str) -> Object | None:
    rows = [row for row in catalog.all() if _api_root(row) == root]
    info = {"title": "Tidegate's embedded server", "version": VERSION["gitVersion"]}
    document: Object = {"openapi": "3.0.0", "info": info}
    return document | {"paths": dict(map(_openapi_path, rows))} if rows else None


def _openapi_path(row: Resource) -> tuple[str, Object]:
    inside = "/namespaces/{namespace}" if row.namespaced else ""
    kind = {"group": row.group, "version": row.version, "kind": row.kind}
    parameters = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    verb = {"x-kubernetes-group-version-kind": kind, "parameters": parameters, "responses": {}}
    return f"/{_api_root(row)}{inside}/{row.plural}/{{name}}", {"patch": verb}


def _api_root(row: Resource) -> str:
    return f"apis/{row.api_version}" if row.group else f"api/{row.version}"
