"""The streams of Tidegate: what each keeps, for how long, and what happens when it is full."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

OBSERVATIONS = "OBSERVATIONS"
EVENTS = "EVENTS"
EVENT_SUBJECTS = "tidegate.*.event.>"
RESYNCS = "RESYNCS"
LEASES = "KV_tidegate_leases"
LEASE_SUBJECT = "$KV.tidegate_leases."

DUPLICATE_WINDOW_S = 120
_NS = 1_000_000_000
_MIB = 1024 * 1024


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation may choose of its streams."""

    replicas: int = 1
    observations_bytes: int = 256 * _MIB
    observations_messages: int = 500_000
    events_bytes: int = 512 * _MIB
    events_age_s: int = 7 * 24 * 3600


_SMALL: tuple[dict[str, object], ...] = (
    {
        "name": RESYNCS,
        "subjects": ["tidegate.*.resync"],
        "discard": "old",
        "max_bytes": _MIB,
        "max_msgs_per_subject": 64,
    },
    {
        "name": LEASES,
        "subjects": [LEASE_SUBJECT + ">"],
        "discard": "new",
        "max_bytes": _MIB,
        "max_msgs_per_subject": 1,
        "allow_msg_ttl": True,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
    },
)
"""Streams that hold a few messages each."""


def wanted(chosen: Streams) -> list[dict[str, object]]:
    """Return every stream's configuration as JetStream's API takes it.

    OBSERVATIONS refuses what is new when it is full: ingest waits, and nothing unread is lost; the
    scheduler's purge makes room. EVENTS drops what is old: the ledger still has it.
    """
    common = {
        "storage": "file",
        "retention": "limits",
        "num_replicas": chosen.replicas,
        "allow_direct": True,
        "duplicate_window": DUPLICATE_WINDOW_S * _NS,
    }
    observations = {
        "name": OBSERVATIONS,
        "subjects": ["tidegate.*.observed.>"],
        "discard": "new",
        "max_bytes": chosen.observations_bytes,
        "max_msgs": chosen.observations_messages,
        "allow_atomic": True,
    }
    events = {
        "name": EVENTS,
        "subjects": [EVENT_SUBJECTS],
        "discard": "old",
        "max_bytes": chosen.events_bytes,
        "max_age": chosen.events_age_s * _NS,
        "allow_atomic": True,
    }
    return [{**common, **own} for own in (observations, events, *_SMALL)]


def differences(config: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    """Return each field in which a stream is not as wanted: ``"max_bytes is 1, not 2"``."""
    return [
        f"{name} is {found.get(name)}, not {value}"
        for name, value in config.items()
        if found.get(name) != value
    ]
