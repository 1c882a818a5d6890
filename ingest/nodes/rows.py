"""The rows for placement: Topologies, Nodes, and the pods that are bound to these.

None of them is watched before a ResourceFlavor names a topology. Usage by pods is published before
the nodes are, so that no node looks empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from ingest import definitions
from ingest.jobs.ownership import ResourceObservation
from ingest.nodes.pod_usage import PodUsage
from ingest.watched_resource import WatchedResource
from tidegate.contracts.observed.nodes import NODE_PODS, NODES, TOPOLOGIES
from tidegate.kinds.kueue_api.flavors import ResourceFlavor, Topology
from tidegate.kinds.names import API_VERSION, GROUP
from tidegate.kinds.observed import BoundPod, Node

_BOUND = {"fieldSelector": "spec.nodeName!="}


class Placement:
    """Whether a flavor names a topology, and the resources that are watched then."""

    def __init__(self) -> None:
        self._named, self._pods_reported = asyncio.Event(), asyncio.Event()
        self._usage = PodUsage()

    def flavor(self, flavor: ResourceFlavor) -> Iterator[ResourceObservation]:
        """Observe a ResourceFlavor; the first one with a topology starts the watch of nodes."""
        if flavor.spec.topology_name:
            self._named.set()
        yield f"resourceflavors.{GROUP}", definitions.flavor(flavor)

    def rows(self) -> tuple[WatchedResource, ...]:
        """Return what is watched."""
        return self._topologies(), self._pods(), self._nodes()

    def _topologies(self) -> WatchedResource:
        return WatchedResource(
            resource=TOPOLOGIES,
            path=f"/apis/{API_VERSION}/topologies",
            kind=Topology,
            observe=lambda topology: ((TOPOLOGIES, definitions.topology(topology)),),
            timeless=True,
            needed=self._named,
        )

    def _pods(self) -> WatchedResource:
        return WatchedResource(
            resource=NODE_PODS,
            path="/api/v1/pods",
            kind=BoundPod,
            observe=self._usage.observe,
            gone=self._usage.forget,
            listed=self._usage.listed,
            present=self._usage.present,
            timeless=True,
            select=_BOUND,
            needed=self._named,
            published=self._pods_reported,
            summed=True,
        )

    def _nodes(self) -> WatchedResource:
        return WatchedResource(
            resource=NODES,
            path="/api/v1/nodes",
            kind=Node,
            observe=self._node,
            gone=lambda uid, _version: self._usage.remove_nodes(uid.__eq__),
            listed=lambda present, _version: self._usage.remove_nodes(
                lambda uid: uid not in present
            ),
            timeless=True,
            needed=self._pods_reported,
        )

    def _node(self, node: Node) -> Iterator[ResourceObservation]:
        node_observed = definitions.node(node)
        yield NODES, node_observed
        yield from self._usage.note_condition(
            node.metadata.name, node.metadata.uid, node_observed.spec
        )
