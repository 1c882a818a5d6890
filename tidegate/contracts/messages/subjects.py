"""Subject names on the bus, both ways; what NATS gives a meaning is percent-encoded."""

from __future__ import annotations

from functools import lru_cache

from tidegate.contracts.codec import type_name
from tidegate.contracts.facts import Event

CLUSTER_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
"""An RFC 1123 label: it stands in names of streams, buckets and users, which take no more."""
NONE = "_"
"""The token that stands for an empty name."""

_ESCAPES = {".": "%2E", "*": "%2A", ">": "%3E", " ": "%20", "%": "%25"}
_TABLE = str.maketrans(_ESCAPES)
_BACK = {code: char for char, code in _ESCAPES.items()}


@lru_cache(maxsize=1_024)
def token(name: str) -> str:
    """Return a name as one subject token: ``"a.b"`` is ``"a%2Eb"``, an empty one ``"_"``."""
    return name.translate(_TABLE) if name else NONE


def name_of(text: str) -> str:
    """Return the name that a token stands for; the inverse of ``token``."""
    if text == NONE:
        return ""
    if "%" not in text:  # nearly all
        return text
    for code, char in _BACK.items():
        if code != "%25":
            text = text.replace(code, char)
    return text.replace("%25", "%")


def place_of(subject: str) -> tuple[str, str, str]:
    """Return ClusterQueue, namespace and workload of an event's subject; empty: it names none."""
    queue, namespace, name = map(name_of, subject.split(".")[-3:])
    return queue, namespace, name


def observed(cluster: str, resource: str, namespace: str, name: str) -> str:
    """Return where an observation of an object is published."""
    kind = token(resource)
    return f"tidegate.{token(cluster)}.observed.{kind}.{token(namespace)}.{token(name)}"


def resync(cluster: str) -> str:
    """Return the subject on which the scheduler requests a full resync."""
    return f"tidegate.{token(cluster)}.resync"


def event(cluster: str, event_body: Event) -> str:
    """Return where an event is published: type, ClusterQueue, namespace, workload."""
    queue: str = getattr(event_body, "cluster_queue", "")
    workload: str = getattr(event_body, "workload", "")
    namespace, _, name = workload.rpartition("/")
    place = f"{token(queue)}.{token(namespace)}.{token(name)}"
    return f"tidegate.{token(cluster)}.event.{type_name(event_body)}.{place}"
