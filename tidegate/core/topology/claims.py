"""Pods that name a workload: their usage beyond that workload's charge on the node is foreign.

Any creator of pods may write any workload's name into them. So pods count as the workload's only up
to the amounts that the ledger has placed on their node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegate.contracts.fact_kinds.definitions import NodePodsReported
from tidegate.core.state.state import State
from tidegate.core.topology.fitting.tree import values_of
from tidegate.model.topology import HOSTNAME, NodeSpec

Claims = Mapping[str, Mapping[str, int]]
"""Workload to the amounts that pods naming it use of a node."""


def uncharged_claims(state: State, node: str, claims: Claims) -> dict[str, dict[str, int]]:
    """Return the claims on a node that exceed the named workloads' charges there."""
    defined = state.objects.nodes.get(node)
    spec = None if defined is None else defined.spec
    return {
        key: {**used}
        for key, used in claims.items()
        if _usage_beyond_charge(state, spec, key, used)
    }


def foreign_usage(state: State, spec: NodeSpec, reported: NodePodsReported) -> dict[str, int]:
    """Return a node's usage by pods that no workload is charged for. Costs O(claims on it)."""
    total = dict(reported.usage)
    for key, used in reported.claimed.items():
        for resource, units in _usage_beyond_charge(state, spec, key, used).items():
            total[resource] = total.get(resource, 0) + units
    return total


def _usage_beyond_charge(
    state: State, spec: NodeSpec | None, key: str, used: Mapping[str, int]
) -> dict[str, int]:
    """Return the usage of pods beyond the charge of the workload that they name, on one node."""
    charged = {} if spec is None else _charged_amounts(state, spec, key)
    remaining = {name: units - charged.get(name, 0) for name, units in used.items()}
    return {name: units for name, units in remaining.items() if units > 0}


def _charged_amounts(state: State, spec: NodeSpec, key: str) -> dict[str, int]:
    topologies, total = state.forest.topologies, dict[str, int]()
    for holding in (
        holding
        for name in _workloads_named(state, spec, key)
        for holding in topologies.placed.get(name, ())
    ):
        placer = topologies.placers.get(holding.flavor)
        if placer is not None and holding.values == values_of(placer.tree, spec):
            for resource, units in holding.each.items():
                total[resource] = total.get(resource, 0) + units * holding.pods
    return total


def _workloads_named(state: State, spec: NodeSpec, key: str) -> Iterator[str]:
    """Yield the workloads to which pods may belong: pods of an elastic job name any slice of it."""
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
