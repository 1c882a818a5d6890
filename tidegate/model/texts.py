"""Texts from outside, each read with a bound: whole numbers, names, and what a database takes.

The one place that parses whole numbers: ``int()`` takes digits of any script, blanks and
underscores, and raises for long texts. Whatever a tenant, a server or a file wrote is read here.
"""

from __future__ import annotations

import re

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
DIGITS_MAX = 19
"""So many digits the largest int64 has."""
NAME_MAX = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def bounded(text: str, most: int) -> str:
    """Return the first ``most`` characters of a text, NUL left out: PostgreSQL refuses it."""
    return text[:most].replace("\0", "")


def printable(text: str) -> str:
    """Return a text in which whatever would move a terminal's cursor is a question mark."""
    return "".join(character if character.isprintable() else "?" for character in text)


def is_name(text: str) -> bool:
    """Return whether a text may name a Kubernetes object: a DNS subdomain of 253 characters."""
    return len(text) <= NAME_MAX and _NAME.fullmatch(text) is not None


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
