"""Kubernetes quantity text to integers in base units, and back.

CPU counts in milli-CPU, everything else in whole units (bytes, pods, devices). No floats: a
quantity is read as an exact fraction and rounded up once, as Kueue does.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from tidegate.errors import QuantityError

UNLIMITED = 9_223_372_036_854_775_807
"""The largest int64: a quota this high or higher is no limit at all (Kueue's sentinel)."""

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([a-zA-Z]{1,2}))?", re.ASCII)
_SUFFIXES = {
    "n": Fraction(1, 1_000_000_000),
    "u": Fraction(1, 1_000_000),
    "m": Fraction(1, 1_000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_EXPONENT_MAX = 40
_TEXT_MAX = 64


@lru_cache(maxsize=4_096)
def parse_quantity(text: str) -> Fraction:
    """Parse a quantity exactly: ``"1500m"`` is 3/2, ``"1Gi"`` is 1073741824.

    Raises:
        QuantityError: the text is not a quantity.
    """
    match = _FORM.fullmatch(text) if len(text) <= _TEXT_MAX else None
    if match is None:
        raise QuantityError(f"{text[:_TEXT_MAX]!r} is not a quantity such as 500m, 2 or 1Gi.")
    number, exponent, suffix = match.groups()
    if exponent is not None and abs(int(exponent[1:])) > _EXPONENT_MAX:
        raise QuantityError(f"{text!r} has an exponent beyond {_EXPONENT_MAX}.")
    value = Fraction(Decimal(number + (exponent or "")))
    if suffix is None:
        return value
    if suffix not in _SUFFIXES:
        raise QuantityError(f"{text!r} ends in {suffix!r}, which is no suffix of a quantity.")
    return value * _SUFFIXES[suffix]


@lru_cache(maxsize=16_384)
def amount(resource: str, text: str) -> int:
    """Return base units: milli-CPU for ``cpu``, whole units otherwise; rounded up, capped.

    Raises:
        QuantityError: the text is not a quantity.
    """
    value = parse_quantity(text) * 1_000 if resource == "cpu" else parse_quantity(text)
    return max(-UNLIMITED, min(UNLIMITED, -(-value.numerator // value.denominator)))


def format_quantity(resource: str, units: int) -> str:
    """Write base units as Kubernetes does: ``("cpu", 1500)`` is ``1500m``, 2 Gi is ``2Gi``."""
    if resource == "cpu":
        return f"{units}m" if units % 1_000 else str(units // 1_000)
    for power, suffix in ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if units and units % (1 << power) == 0:
            return f"{units >> power}{suffix}"
    return str(units)
