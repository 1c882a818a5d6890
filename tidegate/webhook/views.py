"""Objects as policies look at them: as much as they read, and never more than a bounded amount.

A tenant chooses how many values an object has, how deep it is and how large its numbers are. What
policies read stands near the top; what lies behind the bounds is shown as empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

VALUES_MAX, DEPTH_MAX = 20_000, 64
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""Of CEL; the API server reads a larger number of an unknown field as a float, too."""


def bounded_view(obj: object) -> Any:  # noqa: ANN401 - JSON
    """Return a copy of JSON, breadth first, in which only the bounded beginning is filled.

    Owners that are not the controller are left out: no policy asks for them, and they may be many.
    """
    root = _empty_copy(obj)
    queue, remaining = deque([(_with_controller(obj), root, 0)]), VALUES_MAX
    while queue:
        old, new, depth = queue.popleft()
        for key, value in _items(old):
            remaining -= 1
            if remaining < 0:
                return root
            copied = _empty_copy(value)
            if isinstance(new, dict):
                new[key] = copied
            else:
                new.append(copied)
            if depth < DEPTH_MAX:
                queue.append((value, copied, depth + 1))
    return root


def _items(value: object) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _empty_copy(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {}
    if isinstance(value, list):
        return []
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        return float(value)
    return value


def _with_controller(obj: object) -> object:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if not (isinstance(obj, dict) and isinstance(metadata, dict) and isinstance(owners, list)):
        return obj
    controllers = [
        owner for owner in owners if isinstance(owner, dict) and owner.get("controller") is True
    ]
    return {**obj, "metadata": {**metadata, "ownerReferences": controllers}}
