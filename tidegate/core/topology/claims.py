"""Pods that name a workload as theirs: what of them it is not charged for counts as foreign.

Whoever may make pods may write into them whose they are. Believed is what the ledger has placed on
their node, and no more of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegate.contracts.fact_kinds.definitions import NodePodsReported
from tidegate.core.state.state import State
from tidegate.core.topology.fitting.tree import values_of
from tidegate.model.topology import HOSTNAME, NodeSpec

Claims = Mapping[str, Mapping[str, int]]
"""By workload, what the pods that name it use of a node."""


def uncharged(state: State, node: str, claims: Claims) -> dict[str, dict[str, int]]:
    """Return the claims on a node of which some is charged to nobody."""
    defined = state.objects.nodes.get(node)
    spec = None if defined is None else defined.spec
    return {key: {**used} for key, used in claims.items() if _beyond(state, spec, key, used)}


def foreign(state: State, spec: NodeSpec, reported: NodePodsReported) -> dict[str, int]:
    """Return what is used of a node beside what is charged for it; O(claims on it)."""
    total = dict(reported.usage)
    for key, used in reported.claimed.items():
        for resource, units in _beyond(state, spec, key, used).items():
            total[resource] = total.get(resource, 0) + units
    return total


def _beyond(
    state: State, spec: NodeSpec | None, key: str, used: Mapping[str, int]
) -> dict[str, int]:
    """Return what pods use beyond what the workload that they name is charged for there."""
    charged = {} if spec is None else _charged(state, spec, key)
    remaining = {name: units - charged.get(name, 0) for name, units in used.items()}
    return {name: units for name, units in remaining.items() if units > 0}


def _charged(state: State, spec: NodeSpec, key: str) -> dict[str, int]:
    topologies, total = state.forest.topologies, dict[str, int]()
    for holding in (
        holding for name in _named(state, spec, key) for holding in topologies.placed.get(name, ())
    ):
        placer = topologies.placers.get(holding.flavor)
        if placer is not None and holding.values == values_of(placer.tree, spec):
            for resource, units in holding.each.items():
                total[resource] = total.get(resource, 0) + units * holding.pods
    return total


def _named(state: State, spec: NodeSpec, key: str) -> Iterator[str]:
    """Yield the workloads that pods may mean: those of an elastic job name any of its slices."""
    named = state.workloads.get(key)
    yield key
    if named is not None and not named.elastic:
        return
    namespace = key.partition("/")[0]
    for other in state.forest.topologies.at_node.get(spec.labels.get(HOSTNAME, ""), ()):
        workload = state.workloads[other]
        mine = named is None or workload.job.uid == named.job.uid
        if workload.elastic and mine and other != key and other.partition("/")[0] == namespace:
            yield other
