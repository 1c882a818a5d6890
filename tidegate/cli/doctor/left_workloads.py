"""What names a queue and is of a kind that is not enabled: ``tidegate doctor`` names it.

Such objects run at once and no quota counts them; the Workloads of such jobs hold none, and nobody
starts or stops their jobs; see docs/kinds.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus

from tidegate.cli.doctor.findings import Finding, skipped, wrong
from tidegate.cli.objects.api_client import Asking, Object
from tidegate.errors import ApiStatusError
from tidegate.jobs import workload
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.policies.frameworks import is_known_kind
from tidegate.service.config.configuration import Configuration

_PATH = f"/apis/{names.API_VERSION}/workloads"
_NAMED_MAX = 10
_TO_DO = "enable their kinds in integrations.frameworks, or finish and delete them"


def examine_left(api: Asking, told: Configuration) -> Iterator[Finding]:
    """Say which Workloads are left of jobs whose kinds a configuration does not enable."""
    try:
        found = left_behind(api.every(_PATH), told)
    except ApiStatusError as error:
        yield skipped("WorkloadsUnknown", f"Workloads: {error.message}", "ask with rights on them")
        return
    if found:
        yield wrong("WorkloadsLeft", f"of kinds that are not enabled: {_named(found)}", _TO_DO)


def examine_unqueued(api: Asking, told: Configuration) -> Iterator[Finding]:
    """Say which objects name a queue though their kinds are not enabled, so that nobody waits."""
    found, unread = list[str](), list[str]()
    for kind in JOB_KINDS.values():
        if kind.name in (*told.frameworks, workload.NAME) or kind.members is not None:
            continue
        try:
            listed = api.every(kind.path(), names.QUEUE_NAME)
        except ApiStatusError as error:
            unread += [kind.resource] if error.status != HTTPStatus.NOT_FOUND else []
            continue
        found += [f"{kind.kind} {_key(one)}" for one in listed if not _controlled(one)]
    if found:
        text = f"these name a queue, run at once and are not counted: {_named(found)}"
        yield wrong("QueuedNotManaged", text, "enable their kinds in integrations.frameworks")
    if unread:
        text = f"whether any names a queue: {', '.join(unread)}"
        yield skipped("QueuedUnknown", text, "ask with the right to list them")


def _named(found: list[str]) -> str:
    more = f" and {len(found) - _NAMED_MAX} more" if len(found) > _NAMED_MAX else ""
    return ", ".join(found[:_NAMED_MAX]) + more


def _key(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _controlled(obj: Object) -> bool:
    """Tell whether another object made it: of that one its maker is told."""
    return any(one.get("controller") for one in obj["metadata"].get("ownerReferences", ()))


def left_behind(items: Iterable[Object], told: Configuration) -> list[str]:
    """Return unfinished Workloads whose owner is of no enabled kind, each with that owner."""
    known = (JOB_KINDS[name] for name in told.frameworks if name in JOB_KINDS)
    enabled = {(kind.group, kind.kind) for kind in known}
    enabled |= {(one.group, one.kind) for one in told.declared}
    return [said for one in items if (said := _left(one, enabled))]


def _left(obj: Object, enabled: set[tuple[str, str]]) -> str:
    meta = obj["metadata"]
    owners = [one for one in meta.get("ownerReferences", ()) if one["kind"] != "Workload"]
    told = obj.get("status", {}).get("conditions", ())
    if not owners or any((one["type"], one["status"]) == ("Finished", "True") for one in told):
        return ""
    owner = next((one for one in owners if one.get("controller")), owners[0])
    version, kind = owner["apiVersion"], owner["kind"]
    made = names.JOB_UID in meta.get("labels", {}) or names.IN_USE in meta.get("finalizers", ())
    if (version.rpartition("/")[0], kind) in enabled or not (made or is_known_kind(version, kind)):
        return ""
    return f"{meta['namespace']}/{meta['name']} of {kind} {owner['name']}"
