"""What a start injects into a job, on which nodes its pods run, and why pods fit on no nodes."""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.contracts.decision_kinds.queues import WorkloadDecision
from tidegate.model.podset import PodSetAssignment, Toleration, TopologyRequest
from tidegate.model.topology import TopologyAssignment

NodeFailure = Literal["Gone", "NotReady", "Tainted"]
"""What is wrong with a node."""


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


class LevelTried(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many pods fit into the domains of one level."""

    level: str  # the node label
    domains: int  # all domains of the level
    fitting: int = 0  # domains into which all pods fit
    pods: tuple[tuple[int, int], ...] = ()
    """Number of pods that fit into a domain, and number of such domains: the most pods first, at
    most 16 rows, without domains into which none fits."""


class PlacementTried(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why the pods of a podset fit on no nodes of a topology."""

    podset: str
    flavor: str
    topology: str = ""
    unit: Literal["pod", "slice"] = "pod"
    fits: int = 0  # units that could be placed
    of: int = 0  # units that have to be placed
    error: str = ""  # what is wrong with the request itself; empty: nothing
    nodes: int = 0  # nodes of the flavor; domains, if the lowest level is not the hostname
    excluded: dict[str, int] = {}  # e.g. "resource cpu" or "nodeSelector" to nodes excluded by it
    levels: tuple[LevelTried, ...] = ()  # from the top


class TopologyAssigned(WorkloadDecision, frozen=True, kw_only=True, tag="TopologyAssigned/1"):
    """The pods of a workload with quota were placed, or placed again after a node failed."""

    assignment: tuple[PodSetAssignment, ...]  # the whole assignment, as it is from here on
    replaced: str = ""  # the node that its pods left; empty: first placement


class NodeFailed(WorkloadDecision, frozen=True, kw_only=True, tag="NodeFailed/1"):
    """A node failed on which a workload has pods: these pods need another node."""

    node: str  # the value of its hostname label
    reason: NodeFailure


class SecondPassFailed(WorkloadDecision, frozen=True, kw_only=True, tag="SecondPassFailed/1"):
    """The pods of a workload with quota could not be placed: tried again after a change."""

    message: str = ""
    placements: tuple[PlacementTried, ...] = ()
