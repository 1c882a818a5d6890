"""Kinds that are declared in the configuration: a declaration read as a layout."""

from __future__ import annotations

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.gates import ManagedBy
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation, UntypedObject
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import (
    Path,
    number_at,
    parse_path,
    text_at,
    true_condition,
    value_at,
)
from tidegate.kinds.policies.frameworks import declared_framework
from tidegate.model.declaration import Declaration, DeclaredPodSet, Ending, Sign

MANAGED_BY = ManagedBy(path=parse_path("spec.managedBy"), own="")
"""Of kinds that go to worker clusters: their own controllers are not known by name."""


def declared_kind(declaration: Declaration, *, remote: bool = False) -> JobKind[UntypedObject]:
    """Return the job kind that a declaration describes; ``remote``: its jobs may run elsewhere."""
    return suspended_kind(
        declared_framework(declaration),
        Layout(
            podset_locations=lambda obj: podset_locations(declaration, obj),
            status_of=lambda obj: status_of(declaration, obj),
            priority_class=lambda obj: _text(obj, declaration.priority_class),
        ),
        managed_by=MANAGED_BY if remote else None,
    )


def podset_locations(declaration: Declaration, obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets of an object.

    Raises:
        UndecodableError: what stands at a path is not what it should be.
    """
    return tuple(
        place for podset in declaration.pod_sets for place in _podset_locations(podset, obj)
    )


def status_of(declaration: Declaration, obj: Object) -> JobStatus:
    """Return how an object stands; errors as in ``podset_locations``."""
    ended = next((end for end in declaration.finished if is_sign_present(end.when, obj)), None)
    return JobStatus(
        finished="" if ended is None else ended.outcome,
        message="" if ended is None else _message(ended, obj),
        active=int(is_sign_present(declaration.active, obj)),
        ready=declaration.ready is not None and is_sign_present(declaration.ready, obj),
    )


def is_sign_present(sign: Sign, obj: Object) -> bool:
    """Return whether an object gives a sign."""
    if sign.condition:
        return true_condition(obj, (sign.condition,)) is not None
    value = value_at(obj, parse_path(sign.path))
    return _scalar_text(value) in sign.values if sign.values else bool(value)


def _podset_locations(declared: DeclaredPodSet, obj: Object) -> list[PodSetLocation]:
    if not declared.each:
        return [_podset_location(declared, obj, (), declared.name)]
    root = parse_path(declared.each)
    items = value_at(obj, root) or []
    if not isinstance(items, list):
        raise UndecodableError(f"{declared.each}: this is not a list.")
    return [
        _podset_location(
            declared, obj, (*root, at), text_at(item, parse_path(declared.name)).lower()
        )
        for at, item in enumerate(items)
    ]


def _podset_location(
    declared: DeclaredPodSet, obj: Object, root: Path, name: str
) -> PodSetLocation:
    if not name:
        raise UndecodableError(f"{declared.each}.*.{declared.name}: each podset has a name.")
    count_path = (*root, *parse_path(declared.count)) if declared.count else None
    count = 1 if count_path is None else number_at(obj, count_path, 1)
    least = number_at(obj, (*root, *parse_path(declared.min_count))) if declared.min_count else 0
    return PodSetLocation(
        name=name,
        count=count,
        min_count=least if 0 < least < count else None,
        template=(*root, *parse_path(declared.template)) if declared.template else None,
        parts={part: (*root, *parse_path(path)) for part, path in declared.parts.items()},
        count_path=count_path,
    )


def _message(ended: Ending, obj: Object) -> str:
    if ended.message:
        return _text(obj, ended.message)
    condition = true_condition(obj, (ended.when.condition,)) if ended.when.condition else None
    return "" if condition is None else str(condition.get("message", ""))


def _text(obj: Object, path: str) -> str:
    return text_at(obj, parse_path(path)) if path else ""


def _scalar_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
