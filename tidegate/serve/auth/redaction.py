"""Hide in answers what a user may not see: the names of workloads in other namespaces.

An answer about a user's own workload mentions others: those ahead, its preemptor, those that freed
its quota. That there was a workload, and its numbers, is shown; its name is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.serve.auth.rights import Visibility

HIDDEN = "(another namespace's)"
_KEY = re.compile(r"(?<![\w.\-/])([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)/[a-z0-9][-a-z0-9.]*(?![\w/])")
_PLAIN = frozenset({"kind", "jobKind", "job_kind"})
"""Fields that hold a kind of job, such as batch/job, which looks like a workload's key."""
_PERSONS = frozenset({"author", "usedBy", "quotaBy"})
_OWN_PLACE = "namespace"


def redact(value: Any, sight: Visibility) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Return what JSON says, without the names of workloads that are out of sight.

    Everything is built anew; nothing of what was given is changed.
    """
    return value if sight.everything else _redact_value(value, sight, "")


def _redact_value(value: Any, sight: Visibility, field: str) -> Any:  # noqa: ANN401 - whatever JSON can say
    match value:
        case str():
            return value if field in _PLAIN else _redact_text(value, sight)
        case Mapping():
            return _redact_mapping(value, sight)
        case list() | tuple():
            return [_redact_value(item, sight, field) for item in value]
        case _:
            return value


def _redact_mapping(value: Mapping[Any, Any], sight: Visibility) -> dict[Any, Any]:
    visible = {
        (_redact_text(name, sight) if isinstance(name, str) else name): _redact_value(
            item, sight, str(name)
        )
        for name, item in value.items()
    }
    place = value.get(_OWN_PLACE)
    if isinstance(place, str) and place and place not in sight.namespaces:
        visible[_OWN_PLACE] = HIDDEN
        visible |= {name: HIDDEN for name in ("name", "localQueue", "uid") if name in visible}
        visible |= {
            name: [] if isinstance(visible[name], list) else "" for name in _PERSONS & {*visible}
        }
    return visible


def _redact_text(text: str, sight: Visibility) -> str:
    return _KEY.sub(lambda match: _visible_name(match, sight), text)


def _visible_name(match: re.Match[str], sight: Visibility) -> str:
    return match[0] if match[1] in sight.namespaces else HIDDEN
