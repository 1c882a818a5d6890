"""Texts from outside: cut to a length, and without characters that databases reject."""

from __future__ import annotations

import re

NAME_MAX = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)


def bounded(text: str, most: int) -> str:
    """Return the first ``most`` characters of a text, NUL left out: PostgreSQL refuses it."""
    return text[:most].replace("\0", "")


def is_name(text: str) -> bool:
    """Return whether a text may name a Kubernetes object: a DNS subdomain of 253 characters."""
    return len(text) <= NAME_MAX and _NAME.fullmatch(text) is not None
