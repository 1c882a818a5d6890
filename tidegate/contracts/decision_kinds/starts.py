"""What a start injects into a job."""

from __future__ import annotations

import msgspec

from tidegate.model.podset import Toleration, TopologyRequest
from tidegate.model.topology import TopologyAssignment


class PodSetStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a start injects into one podset's template."""

    name: str
    count: int
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    gates: tuple[str, ...] = ()  # further scheduling gates of its pods
    topology: TopologyAssignment | None = None  # the nodes of its pods; None: any
    topology_request: TopologyRequest | None = None  # labels of the pods' ranks, with a topology
