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
    is_foreign_object,
    is_outdated,
    record_removal,
    remember_version,
    request_moves,
    skip_outdated,
)
from tidegate.core.state.definition_kinds import Defined, definitions_of
from tidegate.core.state.state import State
from tidegate.core.topology.claims import uncharged_claims
from tidegate.model.clusters import cluster_of, local_name, qualified
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


class DefinitionKind(NamedTuple):
    """One kind of definition."""

    resource: str
    observed: type[DefinitionObserved]
    defined: type[Defined]  # its fields but ``at_us`` are fields of ``observed``
    removed: type[Removed]


DEFINITION_KINDS = (
    DefinitionKind(
        "clusterqueues.kueue.x-k8s.io",
        observations.ClusterQueueObserved,
        facts.ClusterQueueDefined,
        facts.ClusterQueueRemoved,
    ),
    DefinitionKind(
        "cohorts.kueue.x-k8s.io",
        observations.CohortObserved,
        facts.CohortDefined,
        facts.CohortRemoved,
    ),
    DefinitionKind(
        "localqueues.kueue.x-k8s.io",
        observations.LocalQueueObserved,
        facts.LocalQueueDefined,
        facts.LocalQueueRemoved,
    ),
    DefinitionKind(
        "resourceflavors.kueue.x-k8s.io",
        observations.FlavorObserved,
        facts.FlavorDefined,
        facts.FlavorRemoved,
    ),
    DefinitionKind(
        "admissionchecks.kueue.x-k8s.io",
        observations.CheckObserved,
        facts.CheckDefined,
        facts.CheckRemoved,
    ),
    DefinitionKind(
        "workloadpriorityclasses.kueue.x-k8s.io",
        observations.WorkloadPriorityClassObserved,
        facts.WorkloadPriorityClassDefined,
        facts.WorkloadPriorityClassRemoved,
    ),
    DefinitionKind(
        "priorityclasses.scheduling.k8s.io",
        observations.PriorityClassObserved,
        facts.PriorityClassDefined,
        facts.PriorityClassRemoved,
    ),
    DefinitionKind(
        "namespaces", observations.NamespaceObserved, facts.NamespaceDefined, facts.NamespaceRemoved
    ),
    DefinitionKind(
        "limitranges",
        observations.LimitRangeObserved,
        facts.LimitRangeDefined,
        facts.LimitRangeRemoved,
    ),
    DefinitionKind(
        "runtimeclasses.node.k8s.io",
        observations.RuntimeClassObserved,
        facts.RuntimeClassDefined,
        facts.RuntimeClassRemoved,
    ),
    DefinitionKind(
        nodes.TOPOLOGIES, nodes.TopologyObserved, facts.TopologyDefined, facts.TopologyRemoved
    ),
    DefinitionKind(nodes.NODES, nodes.NodeObserved, facts.NodeDefined, facts.NodeRemoved),
    DefinitionKind(
        nodes.NODE_PODS, nodes.NodePodsObserved, facts.NodePodsReported, facts.NodePodsCleared
    ),
    DefinitionKind(
        workers.MULTIKUEUE_CLUSTERS,
        workers.MultiKueueClusterObserved,
        clusters.MultiKueueClusterDefined,
        clusters.MultiKueueClusterRemoved,
    ),
    DefinitionKind(
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
_BY_OBSERVED = {kind.observed: kind for kind in DEFINITION_KINDS}
_BY_RESOURCE = {kind.resource: kind for kind in DEFINITION_KINDS}


def accept_definition(
    state: State, at_us: int, observed: DefinitionObserved
) -> Iterator[FactEvent]:
    """Yield the facts of an observed definition; nothing if it is outdated or unchanged.

    A newer namesake (the same name, another uid) replaces the known object; an older one is
    outdated.
    """
    kind = _BY_OBSERVED[type(observed)]
    if isinstance(observed, observations.NamespaceObserved):
        kind = kind._replace(resource=qualified(kind.resource, cluster_of(observed.name)))
    if isinstance(observed, Placed) and is_foreign_object(state, observed):
        yield from _accept_foreign(state, at_us, kind, observed)
    elif not (state.partition and isinstance(observed, _OF_NODES)):  # partition 0 places pods
        yield from _accept_own(state, at_us, kind, observed)
    if isinstance(observed, Placed):
        yield from request_moves(state, at_us, observed)


def _accept_own(
    state: State, at_us: int, kind: DefinitionKind, observed: DefinitionObserved
) -> Iterator[FactEvent]:
    definition = _definitions_of(state, kind.resource).get(local_name(_object_key(observed)))
    same = definition is not None and definition.uid == observed.uid
    if is_outdated(
        state, kind.resource, observed, definition.version if definition and same else None
    ):
        return
    if definition is not None and not same:
        if observed.version < definition.version:
            skip_outdated(state, kind.resource, observed, definition.version, suspected=True)
            return
        yield remove_definition(state, at_us, kind.resource, definition, observed.version)
        definition = None
    remember_version(state, observed)
    if isinstance(observed, nodes.NodePodsObserved):
        claimed = uncharged_claims(state, observed.name, observed.claimed)
        if definition is None and not (claimed or observed.usage or observed.living is not None):
            return
        observed = replace(observed, claimed=claimed)
    fresh = _definition_fact(at_us, kind, observed)
    if definition is None or not _is_same(fresh, definition):
        yield fresh


def _accept_foreign(
    state: State, at_us: int, kind: DefinitionKind, observed: Placed
) -> Iterator[FactEvent]:
    """Yield that a ClusterQueue belongs to another partition, and that an own namesake is gone."""
    other = state.objects.elsewhere.get(observed.name)
    same = other is not None and other.uid == observed.uid
    if is_outdated(state, kind.resource, observed, other.version if other and same else None):
        return
    own = _definitions_of(state, kind.resource).get(observed.name)
    if own is not None:  # a namesake
        if observed.version < own.version:
            skip_outdated(state, kind.resource, observed, own.version, suspected=True)
            return
        yield remove_definition(state, at_us, kind.resource, own, observed.version)
    remember_version(state, observed)
    if isinstance(observed, observations.ClusterQueueObserved) and not same:
        yield facts.QueueElsewhere(
            at_us=at_us,
            name=observed.name,
            uid=observed.uid,
            version=observed.version,
            partition=observed.partition,
        )


def accept_policy(
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
    reference = ObjectRef(
        kind="", namespace=definition.namespace, name=definition.name, uid=definition.uid
    )
    record_removal(state, resource, reference, version)
    removed = _BY_RESOURCE[local_name(resource)].removed(
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


def _object_key(observed: DefinitionObserved) -> str:
    return f"{observed.namespace}/{observed.name}" if observed.namespace else observed.name


def _definition_fact(at_us: int, kind: DefinitionKind, observed: DefinitionObserved) -> Defined:
    fields = (name for name in kind.defined.__struct_fields__ if name != "at_us")
    content: dict[str, Any] = {name: getattr(observed, name) for name in fields}
    return kind.defined(at_us=at_us, **content)


def _is_same(fresh: Defined, definition: Defined) -> bool:
    # A new author alone is no change: the author is recorded with the next change.
    ignored: dict[str, Any] = {"at_us": definition.at_us, "version": definition.version}
    if isinstance(definition, _AUTHORED):
        ignored["author"] = definition.author
    return replace(fresh, **ignored) == definition
