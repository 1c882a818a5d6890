"""Observations of topologies, of nodes, and of pods on nodes that no topology placed."""

from __future__ import annotations

from tidegate.contracts.observed.jobs import Observed
from tidegate.model.topology import NodeSpec

TOPOLOGIES = "topologies.kueue.x-k8s.io"
NODES = "nodes"
NODE_PODS = "nodepods.tidegate.dev"
"""Names of the resources. The last is in no API: ingest sums up pods, one object for each node."""


class TopologyObserved(Observed, frozen=True, kw_only=True, tag="TopologyObserved/1"):
    """A Topology."""

    levels: tuple[str, ...] = ()  # node labels, from the top


class NodeObserved(Observed, frozen=True, kw_only=True, tag="NodeObserved/1"):
    """A Node; sent only when one of these fields changed."""

    spec: NodeSpec


class NodePodsObserved(Observed, frozen=True, kw_only=True, tag="NodePodsObserved/1"):
    """The sums of the pods that are bound to a node.

    ``name`` and ``uid`` are the Node's; ``version`` is the newest resourceVersion of these pods,
    including deleted ones. A node without pods has no such object.
    """

    usage: dict[str, int] = {}
    """Resource to base units requested by running pods that no topology placed, including "pods":
    one for each such pod."""
    ended: tuple[str, ...] = ()
    """Workloads ("<namespace>/<name>") whose pods on this node have all ended or are about to; sent
    only while the node is not ready or has a taint."""
    living: tuple[str, ...] | None = None
    """Workloads placed by a topology with pods here that have not ended and do not tolerate the
    node's fault for ever; sent only while there is a fault. None: not sent, or too many."""
    claimed: dict[str, dict[str, int]] = {}
    """Workload to the requests of running pods here that claim to be placed for it by a topology.
    May lag: updated by the next list, or with the next change of the node."""
