"""What ingest may say of topologies, of nodes, and of what runs on these beside placed pods."""

from __future__ import annotations

from tidegate.contracts.observed.identity import Observed
from tidegate.model.topology import NodeSpec

TOPOLOGIES = "topologies.kueue.x-k8s.io"
NODES = "nodes"
NODE_PODS = "nodepods.tidegate.dev"
"""Names of the resources. The last is of no API: ingest adds it up from pods, an object a node."""


class TopologyObserved(
    Observed, frozen=True, kw_only=True, omit_defaults=True, tag="TopologyObserved/1"
):
    """A Topology."""

    levels: tuple[str, ...] = ()  # node labels, from the top


class NodeObserved(Observed, frozen=True, kw_only=True, omit_defaults=True, tag="NodeObserved/1"):
    """A Node; sent only when one of these fields changed."""

    spec: NodeSpec


class NodePodsObserved(
    Observed, frozen=True, kw_only=True, omit_defaults=True, tag="NodePodsObserved/1"
):
    """The pods that are bound to a node, added up.

    ``name`` is the Node's, ``uid`` too; ``version`` is the newest resourceVersion of these pods,
    deleted ones among them. A node without any has no such object.
    """

    usage: dict[str, int] = {}
    """Resource to base units that pods request which run and are not placed by a topology, "pods"
    among them: one for each such pod."""
    ended: tuple[str, ...] = ()
    """Workloads ("<namespace>/<name>") whose pods on this node have all ended or are about to; sent
    only while the node is not ready or has a taint."""
    living: tuple[str, ...] | None = None
    """Workloads that a topology placed with pods here that have not, and do not tolerate what is
    wrong with the node for ever; sent only while something is. None: not sent, or too many."""
    claimed: dict[str, dict[str, int]] = {}
    """Workload to what the pods request that run here and say that a topology placed them for it,
    as of some moment: by the next list, or with the next change of the node."""
