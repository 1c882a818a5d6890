"""Turns observed definitions (queues, flavors, classes, …) into facts if their content changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from tidegate.contracts import observations
from tidegate.contracts.fact_kinds import clusters
from tidegate.contracts.fact_kinds import definitions as facts
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.observed import clusters as workers
from tidegate.contracts.observed import nodes
from tidegate.contracts.observed.jobs import Placed
from tidegate.core.accepting.relevance import (
    ask_moves,
    is_outdated,
    is_placed_elsewhere,
    note,
    pass_over,
    record_removal,
)
from tidegate.core.state.definition_kinds import Defined, definitions_of
from tidegate.core.state.state import State
from tidegate.core.topology.claims import uncharged
from tidegate.model.clusters import cluster_of, local, qualified
from tidegate.model.ids import ObjectRef

DefinitionObserved: TypeAlias = (
    observations.ClusterQueueObserved
    | observations.CohortObserved
    | observations.LocalQueueObserved
    | observations.FlavorObserved
    | observations.CheckObserved
    | observations.WorkloadPriorityClassObserved
    | observations.PriorityClassObserved
    | observations.NamespaceObserved
    | observations.LimitRangeObserved
    | observations.RuntimeClassObserved
    | nodes.TopologyObserved
    | nodes.NodeObserved
    | nodes.NodePodsObserved
    | workers.ClusterObserved
)
Removed: TypeAlias = (
    facts.ClusterQueueRemoved
    | facts.CohortRemoved
    | facts.LocalQueueRemoved
    | facts.FlavorRemoved
    | facts.CheckRemoved
    | facts.WorkloadPriorityClassRemoved
    | facts.PriorityClassRemoved
    | facts.NamespaceRemoved
    | facts.LimitRangeRemoved
    | facts.RuntimeClassRemoved
    | facts.TopologyRemoved
    | facts.NodeRemoved
    | facts.NodePodsCleared
    | clusters.MultiKueueClusterRemoved
    | clusters.MultiKueueConfigRemoved
)


class Row(NamedTuple):
    """One kind of definition."""

    resource: str
    observed: type[DefinitionObserved]
    defined: type[Defined]  # its fields but ``at_us`` are fields of ``observed``
    removed: type[Removed]


ROWS = (
    Row(
        "clusterqueues.kueue.x-k8s.io",
        observations.ClusterQueueObserved,
        facts.ClusterQueueDefined,
        facts.ClusterQueueRemoved,
    ),
    Row(
        "cohorts.kueue.x-k8s.io",
        observations.CohortObserved,
        facts.CohortDefined,
        facts.CohortRemoved,
    ),
    Row(
        "localqueues.kueue.x-k8s.io",
        observations.LocalQueueObserved,
        facts.LocalQueueDefined,
        facts.LocalQueueRemoved,
    ),
    Row(
        "resourceflavors.kueue.x-k8s.io",
        observations.FlavorObserved,
        facts.FlavorDefined,
        facts.FlavorRemoved,
    ),
    Row(
        "admissionchecks.kueue.x-k8s.io",
        observations.CheckObserved,
        facts.CheckDefined,
        facts.CheckRemoved,
    ),
    Row(
        "workloadpriorityclasses.kueue.x-k8s.io",
        observations.WorkloadPriorityClassObserved,
        facts.WorkloadPriorityClassDefined,
        facts.WorkloadPriorityClassRemoved,
    ),
    Row(
        "priorityclasses.scheduling.k8s.io",
        observations.PriorityClassObserved,
        facts.PriorityClassDefined,
        facts.PriorityClassRemoved,
    ),
    Row(
        "namespaces", observations.NamespaceObserved, facts.NamespaceDefined, facts.NamespaceRemoved
    ),
    Row(
        "limitranges",
        observations.LimitRangeObserved,
        facts.LimitRangeDefined,
        facts.LimitRangeRemoved,
    ),
    Row(
        "runtimeclasses.node.k8s.io",
        observations.RuntimeClassObserved,
        facts.RuntimeClassDefined,
        facts.RuntimeClassRemoved,
    ),
    Row(nodes.TOPOLOGIES, nodes.TopologyObserved, facts.TopologyDefined, facts.TopologyRemoved),
    Row(nodes.NODES, nodes.NodeObserved, facts.NodeDefined, facts.NodeRemoved),
    Row(nodes.NODE_PODS, nodes.NodePodsObserved, facts.NodePodsReported, facts.NodePodsCleared),
    Row(
        workers.MULTIKUEUE_CLUSTERS,
        workers.MultiKueueClusterObserved,
        clusters.MultiKueueClusterDefined,
        clusters.MultiKueueClusterRemoved,
    ),
    Row(
        workers.MULTIKUEUE_CONFIGS,
        workers.MultiKueueConfigObserved,
        clusters.MultiKueueConfigDefined,
        clusters.MultiKueueConfigRemoved,
    ),
)
_AUTHORED = (
    facts.ClusterQueueDefined,
    facts.CohortDefined,
    facts.LocalQueueDefined,
    facts.FlavorDefined,
)
_OF_NODES = (nodes.TopologyObserved, nodes.NodeObserved, nodes.NodePodsObserved)
_BY_OBSERVED = {row.observed: row for row in ROWS}
_BY_RESOURCE = {row.resource: row for row in ROWS}


def take_definition(state: State, at_us: int, observed: DefinitionObserved) -> Iterator[FactEvent]:
    """Yield the facts of an observed definition; nothing if it is outdated or unchanged.

    A newer namesake (the same name, another uid) replaces the known object; an older one is
    outdated.
    """
    row = _BY_OBSERVED[type(observed)]
    if isinstance(observed, observations.NamespaceObserved):
        row = row._replace(resource=qualified(row.resource, cluster_of(observed.name)))
    if isinstance(observed, Placed) and is_placed_elsewhere(state, observed):
        yield from _take_elsewhere(state, at_us, row, observed)
    elif not (state.partition and isinstance(observed, _OF_NODES)):  # partition 0 places pods
        yield from _take(state, at_us, row, observed)
    if isinstance(observed, Placed):
        yield from ask_moves(state, at_us, observed)


def _take(state: State, at_us: int, row: Row, observed: DefinitionObserved) -> Iterator[FactEvent]:
    definition = _definitions_of(state, row.resource).get(local(_key(observed)))
    same = definition is not None and definition.uid == observed.uid
    if is_outdated(
        state, row.resource, observed, definition.version if definition and same else None
    ):
        return
    if definition is not None and not same:
        if observed.version < definition.version:
            pass_over(state, row.resource, observed, definition.version, doubted=True)
            return
        yield remove_definition(state, at_us, row.resource, definition, observed.version)
        definition = None
    note(state, observed)
    if isinstance(observed, nodes.NodePodsObserved):
        claimed = uncharged(state, observed.name, observed.claimed)
        if definition is None and not (claimed or observed.usage or observed.living is not None):
            return
        observed = replace(observed, claimed=claimed)
    fresh = _defined(at_us, row, observed)
    if definition is None or not _is_same(fresh, definition):
        yield fresh


def _take_elsewhere(state: State, at_us: int, row: Row, observed: Placed) -> Iterator[FactEvent]:
    """Yield that a ClusterQueue belongs to another partition, and that an own namesake is gone."""
    other = state.objects.elsewhere.get(observed.name)
    same = other is not None and other.uid == observed.uid
    if is_outdated(state, row.resource, observed, other.version if other and same else None):
        return
    own = _definitions_of(state, row.resource).get(observed.name)
    if own is not None:  # a namesake
        if observed.version < own.version:
            pass_over(state, row.resource, observed, own.version, doubted=True)
            return
        yield remove_definition(state, at_us, row.resource, own, observed.version)
    note(state, observed)
    if isinstance(observed, observations.ClusterQueueObserved) and not same:
        yield facts.QueueElsewhere(
            at_us=at_us,
            name=observed.name,
            uid=observed.uid,
            version=observed.version,
            partition=observed.partition,
        )


def take_policy(
    state: State, at_us: int, observation: observations.PolicyObserved
) -> Iterator[FactEvent]:
    """Yield the policy, if it changed."""
    if observation.policy != state.policy:
        yield facts.PolicyConfigured(
            at_us=at_us,
            name=observation.name,
            uid=observation.uid,
            policy=observation.policy,
            rules=observation.rules,
        )


def remove_definition(
    state: State, at_us: int, resource: str, definition: Defined, version: int
) -> Removed:
    """Return the fact that a known definition was deleted, and remember its uid as deleted."""
    gone = ObjectRef(
        kind="", namespace=definition.namespace, name=definition.name, uid=definition.uid
    )
    record_removal(state, resource, gone, version)
    removed = _BY_RESOURCE[local(resource)].removed(
        at_us=at_us,
        name=definition.name,
        namespace=definition.namespace,
        uid=definition.uid,
        version=version,
    )
    if isinstance(definition, facts.LocalQueueDefined) and isinstance(
        removed, facts.LocalQueueRemoved
    ):
        return replace(removed, cluster_queue=definition.spec.cluster_queue)
    return removed


def _definitions_of(state: State, resource: str) -> dict[str, Defined]:
    definitions = definitions_of(state.objects, resource)
    assert definitions is not None, resource
    return definitions


def _key(observed: DefinitionObserved) -> str:
    return f"{observed.namespace}/{observed.name}" if observed.namespace else observed.name


def _defined(at_us: int, row: Row, observed: DefinitionObserved) -> Defined:
    fields = (name for name in row.defined.__struct_fields__ if name != "at_us")
    content: dict[str, Any] = {name: getattr(observed, name) for name in fields}
    return row.defined(at_us=at_us, **content)


def _is_same(fresh: Defined, definition: Defined) -> bool:
    # A new author alone is no change: the author is recorded with the next change.
    aside: dict[str, Any] = {"at_us": definition.at_us, "version": definition.version}
    if isinstance(definition, _AUTHORED):
        aside["author"] = definition.author
    return replace(fresh, **aside) == definition
