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
    found = found_at(obj, CONDITIONS) or []
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise UndecodableError(f"{shown(CONDITIONS)}: these are not conditions.")
    wanted = tuple(kinds)
    true = (one for one in found if one.get("status") == "True")
    return next((one for one in true if one.get("type") in wanted), None)


def outcome(obj: Any, outcomes: Mapping[str, str]) -> tuple[str, str]:  # noqa: ANN401 - any JSON
    """Return how an object ended and what its condition says of it; empty while it has not.

    ``outcomes`` is by the condition's type; errors as in ``holding``.
    """
    ended = holding(obj, outcomes)
    return ("", "") if ended is None else (outcomes[ended["type"]], str(ended.get("message", "")))
