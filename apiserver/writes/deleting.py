"""Deletes: preconditions, finalizers, grace; an object with finalizers stays until none is left."""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.refusals import bad_request, conflict
from apiserver.resources import JOBS, NAMESPACES, PODS, Resource
from apiserver.writes.registry import Registry
from tidegate.kinds.times import rfc3339

Object = dict[str, Any]
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_POLICIES = {"Orphan": ORPHAN, "Foreground": FOREGROUND, "Background": None}
_FINISHED = ("Succeeded", "Failed")


class Preconditions(msgspec.Struct, frozen=True):
    """The preconditions of a delete."""

    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - the name on the wire


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a delete, as clients send them."""

    gracePeriodSeconds: int | None = None  # noqa: N815 - the name on the wire
    propagationPolicy: str | None = None  # noqa: N815 - the name on the wire
    orphanDependents: bool | None = None  # noqa: N815 - the name on the wire
    preconditions: Preconditions = Preconditions()
    dryRun: tuple[str, ...] = ()  # noqa: N815 - the name on the wire


def delete(
    registry: Registry, resource: Resource, namespace: str, name: str, options: DeleteOptions
) -> Object:
    """Delete an object, or mark it as being deleted; return the answer to the client.

    Raises:
        RefusedError: 400, the policy is unknown; 404, it is not there; 409, a precondition fails.
    """
    old = registry.find(resource, namespace, name)
    _check_preconditions(resource, old, options.preconditions)
    new = registry.view(resource, msgspec.json.decode(registry.state.body(old)))
    _mark_deleted(registry, resource, new, options)
    if new == old:
        return old
    settled = registry.store_or_remove(resource, new)
    gone = registry.state.get(resource.key, namespace, name) is None
    return _success_status(resource, old) if gone and resource.key != PODS.key else settled


def _success_status(resource: Resource, old: Object) -> Object:
    details = {"name": old["metadata"]["name"], "group": resource.group, "kind": resource.plural}
    details["uid"] = old["metadata"]["uid"]
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return status | {"details": details}


def _mark_deleted(
    registry: Registry, resource: Resource, obj: Object, options: DeleteOptions
) -> None:
    metadata = obj["metadata"]
    grace_s = _grace_s(resource, obj, options)
    if "deletionTimestamp" in metadata:
        left_s = metadata.get("deletionGracePeriodSeconds", 0)
        if resource.key == PODS.key and grace_s < left_s:
            metadata["deletionGracePeriodSeconds"] = grace_s
        return
    if finalizer := _propagation_finalizer(resource, options):
        metadata["finalizers"] = [*(metadata.get("finalizers") or []), finalizer]
    metadata["deletionTimestamp"] = rfc3339(registry.now_us() + grace_s * 1_000_000)
    if resource.key == NAMESPACES.key:
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
        return
    metadata["deletionGracePeriodSeconds"] = grace_s
    if "generation" in metadata:
        metadata["generation"] += 1


def _grace_s(resource: Resource, obj: Object, options: DeleteOptions) -> int:
    if resource.key != PODS.key or not obj["spec"].get("nodeName"):
        return 0
    if obj["status"].get("phase") in _FINISHED:
        return 0
    wanted_s = options.gracePeriodSeconds
    spec_s: int = obj["spec"]["terminationGracePeriodSeconds"]
    return spec_s if wanted_s is None else wanted_s


def _propagation_finalizer(resource: Resource, options: DeleteOptions) -> str | None:
    policy = options.propagationPolicy
    if policy is not None and policy not in _POLICIES:
        raise bad_request(f"invalid propagationPolicy {policy!r}: one of {sorted(_POLICIES)}")
    if policy is not None:
        return _POLICIES[policy]
    orphans = resource.key == JOBS.key  # batch/v1 orphans its pods by default
    return (
        ORPHAN
        if options.orphanDependents or (options.orphanDependents is None and orphans)
        else None
    )


def _check_preconditions(resource: Resource, old: Object, preconditions: Preconditions) -> None:
    for field, label, value in (
        ("uid", "UID", preconditions.uid),
        ("resourceVersion", "ResourceVersion", preconditions.resourceVersion),
    ):
        current = old["metadata"][field]
        if value is not None and value != current:
            why = f"the {label} in the precondition ({value}) does not match the {label} in record"
            raise conflict(resource, old["metadata"]["name"], f"{why} ({current})")
