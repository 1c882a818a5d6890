"""W3C trace contexts of published messages: set by a service, sent as a NATS header.

A job has one trace for its whole life: the trace id is derived from the job's uid, so that a
restarted service, or one without its predecessor's memory, continues the same trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from hashlib import sha256

HEADER = "traceparent"

publishing: ContextVar[str] = ContextVar("publishing", default="")
"""The context of the observation that is being published; empty: none."""

_NONE: Mapping[int, str] = {}
publishing_events: ContextVar[Mapping[int, str]] = ContextVar("publishing_events", default=_NONE)
"""Ledger seq to the context of an event that is being published."""


def of_job(uid: str) -> str:
    """Return the context in which the life of a job begins: the same for each call with its uid."""
    digest = sha256(uid.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def header(context: str) -> dict[str, str]:
    """Return the header that carries a context; nothing for an empty one."""
    return {HEADER: context} if context else {}
