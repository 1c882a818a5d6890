"""Kinds that are declared in the configuration: a declaration read as a layout."""

from __future__ import annotations

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.conditions import holding
from tidegate.jobs.job_status import JobStatus, Layout, Loose, Place
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.suspending.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import Path, found_at, number_at, parsed, text_at
from tidegate.kinds.policies.frameworks import declared_framework
from tidegate.model.declaration import Declaration, DeclaredPodSet, Ending, Sign


def declared_kind(told: Declaration) -> JobKind[Loose]:
    """Return the job kind that a declaration describes."""
    return suspended_kind(
        declared_framework(told),
        Layout(
            places=lambda obj: places(told, obj),
            standing=lambda obj: standing(told, obj),
            priority_class=lambda obj: _text(obj, told.priority_class),
        ),
    )


def places(told: Declaration, obj: Object) -> tuple[Place, ...]:
    """Return the podsets of an object.

    Raises:
        UndecodableError: what stands at a path is not what it should be.
    """
    return tuple(place for podset in told.pod_sets for place in _places(podset, obj))


def standing(told: Declaration, obj: Object) -> JobStatus:
    """Return how an object stands; errors as in ``places``."""
    ended = next((one for one in told.finished if is_told(one.when, obj)), None)
    return JobStatus(
        finished="" if ended is None else ended.outcome,
        message="" if ended is None else _message(ended, obj),
        active=int(is_told(told.active, obj)),
        ready=told.ready is not None and is_told(told.ready, obj),
    )


def is_told(sign: Sign, obj: Object) -> bool:
    """Tell whether an object gives a sign."""
    if sign.condition:
        return holding(obj, (sign.condition,)) is not None
    value = found_at(obj, parsed(sign.path))
    return _written(value) in sign.values if sign.values else bool(value)


def _places(told: DeclaredPodSet, obj: Object) -> list[Place]:
    if not told.each:
        return [_place(told, obj, (), told.name)]
    root = parsed(told.each)
    items = found_at(obj, root) or []
    if not isinstance(items, list):
        raise UndecodableError(f"{told.each}: this is not a list.")
    return [
        _place(told, obj, (*root, at), text_at(item, parsed(told.name)).lower())
        for at, item in enumerate(items)
    ]


def _place(told: DeclaredPodSet, obj: Object, root: Path, name: str) -> Place:
    if not name:
        raise UndecodableError(f"{told.each}.*.{told.name}: each podset has a name.")
    count_path = (*root, *parsed(told.count)) if told.count else None
    count = 1 if count_path is None else number_at(obj, count_path, 1)
    least = number_at(obj, (*root, *parsed(told.min_count))) if told.min_count else 0
    return Place(
        name=name,
        count=count,
        min_count=least if 0 < least < count else None,
        template=(*root, *parsed(told.template)) if told.template else None,
        parts={part: (*root, *parsed(path)) for part, path in told.parts.items()},
        count_path=count_path,
    )


def _message(ended: Ending, obj: Object) -> str:
    if ended.message:
        return _text(obj, ended.message)
    condition = holding(obj, (ended.when.condition,)) if ended.when.condition else None
    return "" if condition is None else str(condition.get("message", ""))


def _text(obj: Object, path: str) -> str:
    return text_at(obj, parsed(path)) if path else ""


def _written(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
