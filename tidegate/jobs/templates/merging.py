"""JSON merge patches: the one that turns an object into another (RFC 7386)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from ``old`` to ``new``; empty if they are equal.

    A list that differs is written whole, a field that is gone becomes null. ``new`` must not hold
    nulls of its own, for a merge patch cannot say them.
    """
    patch: dict[str, Any] = {}
    for field in (*old, *(field for field in new if field not in old)):
        before, after = old.get(field), new.get(field)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            patch[field] = difference(before, after)
        else:
            patch[field] = after
    return patch
