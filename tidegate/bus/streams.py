"""The streams of one cluster: what they are called, what each keeps, and what they do when full.

Every name begins with the cluster's, so that two installations share a NATS account without harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from tidegate.contracts import subjects
from tidegate.contracts.subjects import BODIES_BYTES, BODY_BYTES_MAX, CLUSTER_NAME, token
from tidegate.errors import NotSupportedError

DUPLICATE_WINDOW_S = 120
BODIES_AGE_S = 24 * 3600
"""A body is stored again with each list of its job, so one that is older is of no job."""
_HEADERS_BYTES = 1024
_NS = 1_000_000_000
_MIB = 1024 * 1024


class StreamNames(msgspec.Struct, frozen=True):
    """The names of one cluster's streams, keys and subjects."""

    cluster: str
    observations: str  # streams, as are the next two
    events: str
    resyncs: str
    leases: str  # the stream behind the bucket of leases
    lease_subject: str  # what a lease's key follows
    event_subjects: str  # of every event
    register: str  # the stream with the owner of all of these
    register_subject: str  # what a key of it follows
    bodies: str  # the stream of jobs' bodies that may be placed in another cluster
    partition: int = 0  # whose events they are

    def inbox(self, user: str) -> str:
        """Return the prefix under which a user of the bus receives its answers."""
        return f"_INBOX_tidegate_{self.cluster}_{user}"


def stream_names(cluster: str, partition: int = 0) -> StreamNames:
    """Return what a cluster's streams are called; each partition has an EVENTS of its own.

    Raises:
        NotSupportedError: the name cannot stand in them.
    """
    if not re.match(CLUSTER_NAME, cluster):
        raise NotSupportedError(
            f"{cluster!r} cannot be a cluster's name: give up to 63 of a-z, 0-9 and -, such as "
            "prod-eu."
        )
    prefix = f"tidegate_{cluster}"
    return StreamNames(
        cluster=cluster,
        observations=f"{prefix}_observations",
        events=f"{prefix}_events_{partition}" if partition else f"{prefix}_events",
        resyncs=f"{prefix}_resyncs",
        leases=f"KV_{prefix}_leases",
        lease_subject=f"$KV.{prefix}_leases.",
        event_subjects=f"{subjects.events_prefix(cluster, partition)}.>",
        register=f"KV_{prefix}_register",
        register_subject=f"$KV.{prefix}_register.",
        bodies=f"{prefix}_bodies",
        partition=partition,
    )


def nats_user(service: str, partition: int) -> str:
    """Return the NATS user of a partition's service: each has its own inbox."""
    return f"{service}_{partition}" if partition else service


class StreamOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of an installation's streams."""

    replicas: int = 1
    observations_bytes: int = 256 * _MIB
    observations_messages: int = 500_000
    events_bytes: int = 512 * _MIB
    events_age_s: int = 7 * 24 * 3600
    bodies_bytes: int = BODIES_BYTES


def stream_configs(names: StreamNames, options: StreamOptions) -> list[dict[str, object]]:
    """Return every stream's configuration as JetStream's API takes it.

    Observations are refused when their stream is full: ingest waits, and nothing unread is lost;
    the scheduler's purge makes room. Of events the oldest are dropped: the ledger still has them.
    """
    large = (_observations_config(names, options), _events_config(names, options))
    small = (_resyncs_config(names), _leases_config(names), _register_config(names))
    return [{**_common_config(options), **stream} for stream in (*large, *small)]


def member_stream_configs(names: StreamNames, options: StreamOptions) -> list[dict[str, object]]:
    """Return the configuration of a member cluster's streams: there is one EVENTS, the hub's."""
    own = [stream for stream in stream_configs(names, options) if stream["name"] != names.events]
    return [*own, bodies_config(names, options)]


def bodies_config(names: StreamNames, options: StreamOptions) -> dict[str, object]:
    """Return the configuration of a cluster's BODIES: one message a digest, the oldest go first.

    The hub has it where there are members. A body that is pushed out is stored again with the next
    list of its job. A message that is to replace a dropped body says when it goes itself.
    """
    return {
        **_common_config(options),
        "name": names.bodies,
        "subjects": [f"{subjects.bodies_prefix(names.cluster)}.*"],
        "discard": "old",
        "max_bytes": options.bodies_bytes,
        "max_age": BODIES_AGE_S * _NS,
        "max_msgs_per_subject": 1,
        "allow_msg_ttl": True,
        "max_msg_size": BODY_BYTES_MAX + _HEADERS_BYTES,
    }


def config_differences(config: Mapping[str, object], actual: Mapping[str, object]) -> list[str]:
    """Return each field in which a stream is not as wanted: ``"max_bytes is 1, not 2"``."""
    return [
        f"{name} is {actual.get(name)}, not {value}"
        for name, value in config.items()
        if actual.get(name) != value
    ]


def _common_config(options: StreamOptions) -> dict[str, object]:
    return {
        "storage": "file",
        "retention": "limits",
        "num_replicas": options.replicas,
        "allow_direct": True,
        "duplicate_window": DUPLICATE_WINDOW_S * _NS,
    }


def _observations_config(names: StreamNames, options: StreamOptions) -> dict[str, object]:
    return {
        "name": names.observations,
        "subjects": [f"tidegate.{token(names.cluster)}.observed.>"],
        "discard": "new",
        "max_bytes": options.observations_bytes,
        "max_msgs": options.observations_messages,
    }


def _events_config(names: StreamNames, options: StreamOptions) -> dict[str, object]:
    return {
        "name": names.events,
        "subjects": [names.event_subjects],
        "discard": "old",
        "max_bytes": options.events_bytes,
        "max_age": options.events_age_s * _NS,
    }


def _resyncs_config(names: StreamNames) -> dict[str, object]:
    return {
        "name": names.resyncs,
        "subjects": [f"tidegate.{token(names.cluster)}.resync"],
        "discard": "old",
        "max_bytes": _MIB,
        "max_msgs_per_subject": 64,
    }


def _leases_config(names: StreamNames) -> dict[str, object]:
    return {
        "name": names.leases,
        "subjects": [names.lease_subject + ">"],
        "discard": "new",
        "max_bytes": _MIB,
        "max_msgs_per_subject": 1,
        "allow_msg_ttl": True,
        "allow_rollup_hdrs": True,
        "deny_delete": True,
    }


def _register_config(names: StreamNames) -> dict[str, object]:
    return {
        "name": names.register,
        "subjects": [names.register_subject + ">"],
        "discard": "new",
        "max_bytes": _MIB,
        "max_msgs_per_subject": 1,
        "deny_delete": True,
    }
