"""The W3C trace context beside what is published: set by a service, written by the bus as a header.

A job has one trace for all its life: its id is made from the job's uid, so that a service that was
restarted, or got nothing from its predecessor, still has the same trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from hashlib import sha256

HEADER = "traceparent"

publishing: ContextVar[str] = ContextVar("publishing", default="")
"""The context of the observation that is published now; empty: none."""

_NONE: Mapping[int, str] = {}
publishing_events: ContextVar[Mapping[int, str]] = ContextVar("publishing_events", default=_NONE)
"""By ledger seq the contexts of the events that are published now."""


def of_job(uid: str) -> str:
    """Return the context in which the life of a job begins: always the same for one uid."""
    digest = sha256(uid.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def header(context: str) -> dict[str, str]:
    """Return the header that carries a context; nothing for an empty one."""
    return {HEADER: context} if context else {}
