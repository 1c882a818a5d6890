"""Whether two pieces of JSON mean the same to a program that reads them into Kubernetes' types.

A worker that runs Kueue writes a Workload from those types: what is empty comes or goes, and a
quantity gets its canonical form. Pure. Source: multikueue.md 2.5, step 5.
"""

from __future__ import annotations

from typing import Any

from tidegate.errors import QuantityError
from tidegate.kinds.podsets import quantity_text
from tidegate.model.quantity import parse_quantity

_AMOUNTS = frozenset(("requests", "limits", "overhead"))  # maps of quantities
_QUANTITIES = frozenset(("sizeLimit", "divisor"))


def is_equivalent(mine: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Return whether two values differ in nothing but how the same is written."""
    return bool(_normalized(mine, "") == _normalized(other, ""))


def _normalized(value: Any, field: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value without what is empty in it, and with quantities as numbers."""
    match value:
        case dict() if field in _AMOUNTS:
            return {key: _quantity(text) for key, text in value.items()}
        case dict():
            fields = {key: _normalized(inner, key) for key, inner in value.items()}
            return {key: inner for key, inner in fields.items() if inner}
        case list():
            return [_normalized(entry, "") for entry in value]
        case str() | int() | float() if field in _QUANTITIES:
            return _quantity(value)
        case _:
            return value


def _quantity(value: Any) -> Any:  # noqa: ANN401 - a quantity, or what stands in its place
    try:
        return parse_quantity(quantity_text(value))
    except (QuantityError, AttributeError, TypeError):
        return value
