"""What a start puts into a job."""

from __future__ import annotations

import msgspec

from tidegate.model.podset import Toleration, TopologyRequest
from tidegate.model.topology import TopologyAssignment


class PodSetStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a start puts into one podset's template."""

    name: str
    count: int
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    gates: tuple[str, ...] = ()  # scheduling gates that hold its pods back once more
    topology: TopologyAssignment | None = None  # where its pods go; None: anywhere
    topology_request: TopologyRequest | None = None  # where the ranks are, if it has a topology
