"""The name of a job's Workload."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_NAME_MAX = 253
_DIGITS = 5


@lru_cache(maxsize=4_096)
def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """Return ``<kind lower>-<owner name>-<5 hex digits>``, at most 253 characters.

    Source: behaviour.md 15.3. The digits are of the owner's identity, so that a namesake made
    later, or one of another kind, has another Workload.
    """
    identity = f"{kind}\n{group}\n{name}\n{uid}".encode()
    digest = hashlib.sha1(identity, usedforsecurity=False).hexdigest()[:_DIGITS]
    prefix = f"{kind.lower()}-{name}"[: _NAME_MAX - _DIGITS - 1]
    return f"{prefix}-{digest}"


def workload_key(kind: str, group: str, namespace: str, name: str, uid: str) -> str:
    """Return ``<namespace>/<Workload's name>``, which is how decisions call it."""
    return f"{namespace}/{workload_name(kind, group, name, uid)}"
