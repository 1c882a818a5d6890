"""Objects that name a queue though their kind is not enabled: ``tidegate doctor`` lists them.

Such objects run at once and are not charged; Workloads of such jobs hold no quota, and their jobs
are neither started nor stopped; see docs/kinds.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus

from tidegate.cli.doctor.findings import Finding, abbreviate, skipped_finding, wrong_finding
from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.errors import ApiStatusError
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.policies.disabled import QueuedKind, queued_kinds
from tidegate.kinds.policies.frameworks import is_known_kind
from tidegate.service.config.configuration import Configuration

_PATH = f"/apis/{names.API_VERSION}/workloads"
_TO_DO = "enable their kinds in integrations.frameworks, or finish and delete them"


def examine_leftover_workloads(api: ApiClient, configuration: Configuration) -> Iterator[Finding]:
    """Report Workloads that are left of jobs whose kinds are not enabled."""
    try:
        results = leftover_workloads(api.list_all(_PATH), configuration)
    except ApiStatusError as error:
        yield skipped_finding(
            "WorkloadsUnknown",
            f"Workloads: {error.message}",
            "run doctor with the right to list Workloads",
        )
        return
    if results:
        yield wrong_finding(
            "WorkloadsLeft",
            f"Workloads of kinds that are not enabled: {abbreviate(results)}",
            _TO_DO,
        )


def examine_unqueued(api: ApiClient, configuration: Configuration) -> Iterator[Finding]:
    """List objects that name a queue though their kinds are not enabled: they run at once."""
    results, unread = list[str](), list[str]()
    for kind in queued_kinds(configuration.frameworks):
        try:
            listed = api.list_all(kind.path, names.QUEUE_NAME)
        except ApiStatusError as error:
            unread += [_resource_name(kind)] if error.status != HTTPStatus.NOT_FOUND else []
            continue
        results += [f"{kind.kind} {_key(obj)}" for obj in listed if not _has_controller(obj)]
    if results:
        named = abbreviate(results)
        text = f"these objects name a queue, but run at once and are not charged: {named}"
        yield wrong_finding(
            "QueuedNotManaged", text, "enable their kinds in integrations.frameworks"
        )
    if unread:
        text = f"objects that could not be listed: {', '.join(unread)}"
        yield skipped_finding("QueuedUnknown", text, "run doctor with the right to list them")


def _resource_name(kind: QueuedKind) -> str:
    return f"{kind.resource}.{kind.group}" if kind.group else kind.resource


def _key(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _has_controller(obj: Object) -> bool:
    """Return whether another object made it: the finding names its maker."""
    return any(
        reference.get("controller") for reference in obj["metadata"].get("ownerReferences", ())
    )


def leftover_workloads(items: Iterable[Object], configuration: Configuration) -> list[str]:
    """Return unfinished Workloads whose owner is of no enabled kind, each with that owner."""
    generator = (JOB_KINDS[name] for name in configuration.frameworks if name in JOB_KINDS)
    enabled = {(kind.group, kind.kind) for kind in generator}
    enabled |= {(declaration.group, declaration.kind) for declaration in configuration.declared}
    return [message for workload in items if (message := _leftover_text(workload, enabled))]


def _leftover_text(obj: Object, enabled: set[tuple[str, str]]) -> str:
    meta = obj["metadata"]
    owners = [
        reference
        for reference in meta.get("ownerReferences", ())
        if reference["kind"] != "Workload"
    ]
    conditions = obj.get("status", {}).get("conditions", ())
    if not owners or any(
        (condition["type"], condition["status"]) == ("Finished", "True") for condition in conditions
    ):
        return ""
    owner = next((owner for owner in owners if owner.get("controller")), owners[0])
    version, kind = owner["apiVersion"], owner["kind"]
    generated = names.JOB_UID in meta.get("labels", {}) or names.IN_USE in meta.get(
        "finalizers", ()
    )
    if (version.rpartition("/")[0], kind) in enabled or not (
        generated or is_known_kind(version, kind)
    ):
        return ""
    return f"{meta['namespace']}/{meta['name']} of {kind} {owner['name']}"
