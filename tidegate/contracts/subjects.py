"""Subjects of messages on NATS, and the trace contexts that the messages bear.

Characters that NATS treats specially are percent-encoded in a subject. A trace context (W3C) is set
by a service and sent as a header. A job has one trace for its whole life: the trace id is derived
from the job's uid, so that a restarted service, or one without its predecessor's memory, continues
the same trace.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256

from tidegate.contracts.codec import type_name
from tidegate.contracts.facts import Event

CLUSTER_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
"""An RFC 1123 label: part of names of streams, buckets and users, which allow no more."""
BODY_BYTES_MAX = 256 * 1024
"""The size of one job's body: as large as its observation."""
BODIES_BYTES = 128 * 1024 * 1024
"""The size of all bodies of one cluster's jobs."""
NAMESPACE_BODIES_BYTES_MAX = BODIES_BYTES // 4
"""The size of all bodies of one namespace, so that one tenant cannot displace the others'."""
NONE = "_"
"""The token for an empty name."""
_CONTROLS = [chr(code) for code in (*range(32), 127)]
_ESCAPES = {char: f"%{ord(char):02X}" for char in (".", "*", ">", " ", "%", *_CONTROLS)}
"""A blank or line break would end the subject, and the rest would be a command to NATS."""
_NAME_MAX, _DIGEST_CHARS = 253, 32
"""NATS closes a connection that sends a line longer than 4,096 bytes. No Kubernetes object has such
a name, but arbitrary text may be in a name's place."""
_TABLE = str.maketrans(_ESCAPES)
_BACK = {code: char for char, code in _ESCAPES.items()}
_RESOURCE_TOKEN = 3  # tidegate.<cluster>.observed.<resource>.…
_ESCAPED = re.compile("%[0-9A-F]{2}")
HEADER = "traceparent"
publishing: ContextVar[str] = ContextVar("publishing", default="")
"""The context of the observation that is being published; empty: none."""
_NONE: Mapping[int, str] = {}
publishing_events: ContextVar[Mapping[int, str]] = ContextVar("publishing_events", default=_NONE)
"""Ledger seq to the context of an event that is being published."""


@lru_cache(maxsize=1_024)
def token(name: str) -> str:
    """Return a name as one subject token: ``"a.b"`` is ``"a%2Eb"``, an empty one ``"_"``.

    A name of more than 253 characters, which no object may have, is cut off, with a digest of all.
    """
    if len(name) > _NAME_MAX:
        digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:_DIGEST_CHARS]
        name = f"{name[: _NAME_MAX - _DIGEST_CHARS - 1]}~{digest}"
    return name.translate(_TABLE) if name else NONE


def name_of(text: str) -> str:
    """Return the name of a token; the inverse of ``token`` for names of at most 253 characters."""
    if text == NONE:
        return ""
    if "%" not in text:  # the usual case
        return text
    return _ESCAPED.sub(lambda code: _BACK.get(code[0], code[0]), text)


def parse_event_subject(subject: str) -> tuple[str, str, str]:
    """Return ClusterQueue, namespace and workload of an event's subject; empty: it names none."""
    queue, namespace, name = map(name_of, subject.split(".")[-3:])
    return queue, namespace, name


def observed_subject(cluster: str, resource: str, namespace: str, name: str) -> str:
    """Return the subject of an observation of an object."""
    kind = token(resource)
    return f"tidegate.{token(cluster)}.observed.{kind}.{token(namespace)}.{token(name)}"


def resource_of(subject: str) -> str:
    """Return the resource of an observation by its subject; empty: it names none."""
    tokens = subject.split(".")
    return name_of(tokens[_RESOURCE_TOKEN]) if len(tokens) > _RESOURCE_TOKEN else ""


def body_subject(cluster: str, digest: str) -> str:
    """Return the subject of a placeable job's body."""
    return f"{bodies_prefix(cluster)}.{token(digest)}"


def bodies_prefix(cluster: str) -> str:
    """Return the prefix of the subjects of a cluster's bodies, without the last dot."""
    return f"tidegate.{token(cluster)}.body"


def resync_subject(cluster: str) -> str:
    """Return the subject on which the scheduler requests a full resync."""
    return f"tidegate.{token(cluster)}.resync"


@lru_cache(maxsize=64)
def events_prefix(cluster: str, partition: int = 0) -> str:
    """Return the prefix of the subjects of a partition's events, without the last dot."""
    named = f".partition.{partition}" if partition else ""
    return f"tidegate.{token(cluster)}{named}.event"


def event_subject(cluster: str, event_body: Event, partition: int = 0) -> str:
    """Return the subject of an event: type, ClusterQueue, namespace, workload."""
    queue: str = getattr(event_body, "cluster_queue", "")
    workload: str = getattr(event_body, "workload", "")
    namespace, _, name = workload.rpartition("/")
    place = f"{token(queue)}.{token(namespace)}.{token(name)}"
    return f"{events_prefix(cluster, partition)}.{type_name(event_body)}.{place}"


def job_trace_context(uid: str) -> str:
    """Return the context in which the life of a job begins: the same for each call with its uid."""
    digest = sha256(uid.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def trace_headers(context: str) -> dict[str, str]:
    """Return the header that carries a context; nothing for an empty one."""
    return {HEADER: context} if context else {}
