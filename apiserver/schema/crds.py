"""CustomResourceDefinitions: what makes one right, and the resources that it serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.refusals import Cause, invalid_value, not_allowed, required, unsupported
from apiserver.resources import Resource

Object = dict[str, Any]
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def default_crd(crd: Object) -> None:
    """Write a definition's defaults, in place."""
    spec = crd.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})


def prepare_crd(crd: Object) -> None:
    """Hold a new definition, in place, until its objects are gone."""
    crd["metadata"]["finalizers"] = [*(crd["metadata"].get("finalizers") or []), CLEANUP]


def check_crd(crd: Object) -> Iterator[Cause]:
    """Yield what is wrong with a definition."""
    spec, names = crd["spec"], crd["spec"]["names"]
    for field in ("plural", "kind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    expected = f"{names.get('plural')}.{spec.get('group')}"
    if crd["metadata"]["name"] != expected:
        yield invalid_value("metadata.name", crd["metadata"]["name"], f"must be {expected}")
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", spec.get("scope"), ["Cluster", "Namespaced"])
    if spec["conversion"].get("strategy") != "None":
        why = "the embedded server calls no conversion webhooks"
        yield not_allowed("spec.conversion.strategy", why)
    yield from _check_versions(spec.get("versions") or [])


def resources_of(crd: Object) -> tuple[Resource, ...]:
    """Return the versions that a definition serves."""
    spec = crd["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    return tuple(
        Resource(
            group=spec["group"],
            version=version["name"],
            plural=spec["names"]["plural"],
            kind=spec["names"]["kind"],
            namespaced=spec["scope"] == "Namespaced",
            status="status" in (version.get("subresources") or {}),
            generation=True,
            fields=tuple(
                field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()
            ),
            short_names=tuple(spec["names"].get("shortNames") or ()),
            schema=version["schema"]["openAPIV3Schema"],
            stored_version=stored,
        )
        for version in spec["versions"]
        if version.get("served")
    )


def established_status(crd: Object, at: str) -> Object:
    """Return the status of a definition whose resource is served since a time."""
    spec, old = crd["spec"], crd.get("status") or {}
    versions = [version["name"] for version in spec["versions"] if version.get("storage")]
    before = [name for name in old.get("storedVersions") or [] if name not in versions]
    return {
        "acceptedNames": spec["names"],
        "conditions": old.get("conditions")
        or [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", at),
            _condition("Established", "InitialNamesAccepted", "the names have been accepted", at),
        ],
        "storedVersions": before + versions,
    }


def _condition(kind: str, reason: str, message: str, at: str) -> Object:
    condition = {"type": kind, "status": "True", "reason": reason, "message": message}
    return condition | {"lastTransitionTime": at}


def _check_versions(versions: list[Object]) -> Iterator[Cause]:
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid_value(
            "spec.versions", [], "must have exactly one version marked as storage version"
        )
    for i, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        at = f"spec.versions[{i}].schema.openAPIV3Schema"
        if version.get("storage") and not version.get("served"):
            why = "the embedded server serves the storage version"
            yield not_allowed(f"spec.versions[{i}].served", why)
        if not schema:
            yield required(at, "schemas are required")
        elif schema.get("type") != "object":
            yield invalid_value(f"{at}.type", schema.get("type"), "must be object at the root")
