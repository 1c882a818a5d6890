"""Whole numbers in text from outside: the one place that parses them.

``int()`` takes digits of any script, blanks and underscores, and raises for long texts. Whatever a
tenant, a server or a file wrote is read here instead, with a bound.
"""

from __future__ import annotations

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
DIGITS_MAX = 19
"""So many digits the largest int64 has."""


def whole(text: str, most: int = INT64_MAX) -> int | None:
    """Return the number from 0 to ``most`` that ASCII digits write; None if they write none."""
    if len(text) > DIGITS_MAX or not (text.isascii() and text.isdecimal()):
        return None
    value = int(text)
    return value if value <= most else None


def signed(text: str, most: int = INT64_MAX) -> int | None:
    """Return the number from ``-most - 1`` to ``most`` that a text writes; None: it writes none."""
    if not text.startswith("-"):
        return whole(text, most)
    value = whole(text[1:], most + 1)
    return None if value is None else -value
