"""Parses texts from outside, with bounds: whole numbers, names, and texts for a database.

Only this module parses whole numbers: ``int()`` accepts digits of any script, blanks and
underscores, and raises for long texts. Texts of tenants, servers and files are parsed here.
"""

from __future__ import annotations

import re

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
DIGITS_MAX = 19
"""The number of digits of the largest int64."""
NAME_MAX = 253
QUALIFIED_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
"""A label's key or a resource, e.g. ``example.com/gpu``."""
PART_MAX = 63
"""Characters of a label's value, and of its key behind the ``/``."""
_QUALIFIED = re.compile(QUALIFIED_PATTERN)
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def bounded(text: str, most: int) -> str:
    """Return the first ``most`` characters of a text without NUL, which PostgreSQL refuses."""
    return text[:most].replace("\0", "")


def printable(text: str) -> str:
    """Return a text with a question mark for each character that is not printable."""
    return "".join(character if character.isprintable() else "?" for character in text)


def is_name(text: str) -> bool:
    """Return whether a text may name a Kubernetes object: a DNS subdomain of 253 characters."""
    return len(text) <= NAME_MAX and _NAME.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Return whether a text may be a label's key, as Kubernetes judges it."""
    domain, _, part = text.rpartition("/")
    fits = len(domain) <= NAME_MAX and len(part) <= PART_MAX
    return fits and _QUALIFIED.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Return whether a text may be a label's value, as Kubernetes judges it."""
    return len(text) <= PART_MAX and _LABEL_VALUE.fullmatch(text) is not None


def parse_whole(text: str, most: int = INT64_MAX) -> int | None:
    """Return the number from 0 to ``most`` in ASCII digits of a text; None: it is none."""
    if len(text) > DIGITS_MAX or not (text.isascii() and text.isdecimal()):
        return None
    value = int(text)
    return value if value <= most else None


def parse_signed(text: str, most: int = INT64_MAX) -> int | None:
    """Return the number from ``-most - 1`` to ``most`` in a text; None: it is none.

    Like Go's ``strconv.ParseInt``, by which Kubernetes and Kueue read such texts, it takes a plus.
    """
    if not text.startswith("-"):
        return parse_whole(text.removeprefix("+"), most)
    value = parse_whole(text[1:], most + 1)
    return None if value is None else -value
