"""Conditions in a status that is looked at as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.errors import UndecodableError
from tidegate.jobs.templates.paths import found_at, shown

CONDITIONS = ("status", "conditions")


def holding(obj: Any, kinds: Iterable[str]) -> Mapping[str, Any] | None:  # noqa: ANN401 - any JSON
    """Return the first condition that is true and of one of these types, as the status lists them.

    Raises:
        UndecodableError: the conditions are none.
    """
    conditions = found_at(obj, CONDITIONS) or []
    if not isinstance(conditions, list) or not all(
        isinstance(condition, Mapping) for condition in conditions
    ):
        raise UndecodableError(f"{shown(CONDITIONS)}: these are not conditions.")
    types = tuple(kinds)
    true = (condition for condition in conditions if condition.get("status") == "True")
    return next((condition for condition in true if condition.get("type") in types), None)


def outcome(obj: Any, outcomes: Mapping[str, str]) -> tuple[str, str]:  # noqa: ANN401 - any JSON
    """Return the outcome of an object and its condition's message; both empty until it ends.

    ``outcomes`` is by the condition's type; errors as in ``holding``.
    """
    ended = holding(obj, outcomes)
    return ("", "") if ended is None else (outcomes[ended["type"]], str(ended.get("message", "")))
