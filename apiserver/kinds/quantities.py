"""Quantities in the one form in which the API server writes them: ``1000m`` is ``1``."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from apiserver.refusals import bad_request
from tidegate.errors import QuantityError
from tidegate.model.quantity import parse_quantity

_EXPONENT = re.compile(r"\d[eE][+-]?\d")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_KILO, _KIBI = 1_000, 1_024
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def canonicalize_map(values: dict[str, Any] | None) -> None:
    """Rewrite every quantity of a resource list, in place.

    Raises:
        RefusedError: 400, one is not a quantity.
    """
    for name, value in (values or {}).items():
        assert values is not None
        values[name] = canonical_quantity(str(value))


@lru_cache(maxsize=8_192)
def canonical_quantity(text: str) -> str:
    """Return a quantity with the largest suffix of its family that leaves no fraction.

    Raises:
        RefusedError: 400, it is not a quantity.
    """
    try:
        value = parse_quantity(text)
    except QuantityError as error:
        why = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*)'"
        raise bad_request(f"{why}: {error}") from error
    if _EXPONENT.search(text):
        return text
    return _with_largest_suffix(value, _BINARY, _KIBI) if text.endswith("i") else _decimal(value)


def _decimal(value: Fraction) -> str:
    return _with_largest_suffix(value * 1_000_000_000, _DECIMAL, _KILO)


def _with_largest_suffix(value: Fraction, suffixes: tuple[str, ...], base: int) -> str:
    if value.denominator != 1 and base == _KIBI:
        return _decimal(value)
    number, at = -(-value.numerator // value.denominator), 0
    while number and at < len(suffixes) - 1 and number % base == 0:
        number, at = number // base, at + 1
    return f"{number}{suffixes[at]}" if number else "0"
