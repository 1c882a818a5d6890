"""Queues, flavors, classes and their like: a row for each kind, a fact if the content differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from tidegate.contracts import observations as seen
from tidegate.contracts.fact_kinds import clusters
from tidegate.contracts.fact_kinds import definitions as told
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.observed import clusters as workers
from tidegate.contracts.observed import nodes
from tidegate.core.accepting.versions import bury, is_outdated, note, pass_over
from tidegate.core.state.definition_kinds import Defined, cq
from tidegate.core.state.state import State
from tidegate.core.topology.claims import uncharged
from tidegate.model.ids import ObjectRef

DefinitionObserved: TypeAlias = (
    seen.ClusterQueueObserved
    | seen.CohortObserved
    | seen.LocalQueueObserved
    | seen.FlavorObserved
    | seen.CheckObserved
    | seen.WorkloadPriorityClassObserved
    | seen.PriorityClassObserved
    | seen.NamespaceObserved
    | seen.LimitRangeObserved
    | seen.RuntimeClassObserved
    | nodes.TopologyObserved
    | nodes.NodeObserved
    | nodes.NodePodsObserved
    | workers.ClusterObserved
)
Removed: TypeAlias = (
    told.ClusterQueueRemoved
    | told.CohortRemoved
    | told.LocalQueueRemoved
    | told.FlavorRemoved
    | told.CheckRemoved
    | told.WorkloadPriorityClassRemoved
    | told.PriorityClassRemoved
    | told.NamespaceRemoved
    | told.LimitRangeRemoved
    | told.RuntimeClassRemoved
    | told.TopologyRemoved
    | told.NodeRemoved
    | told.NodePodsCleared
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
        seen.ClusterQueueObserved,
        told.ClusterQueueDefined,
        told.ClusterQueueRemoved,
    ),
    Row(
        "cohorts.kueue.x-k8s.io",
        seen.CohortObserved,
        told.CohortDefined,
        told.CohortRemoved,
    ),
    Row(
        "localqueues.kueue.x-k8s.io",
        seen.LocalQueueObserved,
        told.LocalQueueDefined,
        told.LocalQueueRemoved,
    ),
    Row(
        "resourceflavors.kueue.x-k8s.io",
        seen.FlavorObserved,
        told.FlavorDefined,
        told.FlavorRemoved,
    ),
    Row(
        "admissionchecks.kueue.x-k8s.io",
        seen.CheckObserved,
        told.CheckDefined,
        told.CheckRemoved,
    ),
    Row(
        "workloadpriorityclasses.kueue.x-k8s.io",
        seen.WorkloadPriorityClassObserved,
        told.WorkloadPriorityClassDefined,
        told.WorkloadPriorityClassRemoved,
    ),
    Row(
        "priorityclasses.scheduling.k8s.io",
        seen.PriorityClassObserved,
        told.PriorityClassDefined,
        told.PriorityClassRemoved,
    ),
    Row("namespaces", seen.NamespaceObserved, told.NamespaceDefined, told.NamespaceRemoved),
    Row("limitranges", seen.LimitRangeObserved, told.LimitRangeDefined, told.LimitRangeRemoved),
    Row(
        "runtimeclasses.node.k8s.io",
        seen.RuntimeClassObserved,
        told.RuntimeClassDefined,
        told.RuntimeClassRemoved,
    ),
    Row(nodes.TOPOLOGIES, nodes.TopologyObserved, told.TopologyDefined, told.TopologyRemoved),
    Row(nodes.NODES, nodes.NodeObserved, told.NodeDefined, told.NodeRemoved),
    Row(nodes.NODE_PODS, nodes.NodePodsObserved, told.NodePodsReported, told.NodePodsCleared),
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
_BY_OBSERVED = {row.observed: row for row in ROWS}
_BY_RESOURCE = {row.resource: row for row in ROWS}


def take_definition(state: State, at_us: int, observed: DefinitionObserved) -> Iterator[FactEvent]:
    """Yield what an observed definition changes; nothing if it is outdated or its content known.

    A namesake (the same name, another uid) that is newer replaces the one known; an older one is
    the past.
    """
    row = _BY_OBSERVED[type(observed)]
    known = _kept(state, row.resource).get(_key(observed))
    same = known is not None and known.uid == observed.uid
    if is_outdated(state, row.resource, observed, known.version if known and same else None):
        return
    if known is not None and not same:
        if observed.version < known.version:
            pass_over(state, row.resource, observed, known.version, doubted=True)
            return
        yield remove_definition(state, at_us, row.resource, known, observed.version)
        known = None
    note(state, observed)
    if isinstance(observed, nodes.NodePodsObserved):
        claimed = uncharged(state, observed.name, observed.claimed)
        if known is None and not (claimed or observed.usage or observed.living is not None):
            return
        observed = replace(observed, claimed=claimed)
    fresh = _defined(at_us, row, observed)
    if known is None or not _is_same(fresh, known):
        yield fresh


def remove_definition(
    state: State, at_us: int, resource: str, known: Defined, version: int
) -> Removed:
    """Return the fact that a known definition is gone, and remember its uid as gone."""
    gone = ObjectRef(kind="", namespace=known.namespace, name=known.name, uid=known.uid)
    bury(state, resource, gone, version)
    removed = _BY_RESOURCE[resource].removed
    return removed(
        at_us=at_us, name=known.name, namespace=known.namespace, uid=known.uid, version=version
    )


def _kept(state: State, resource: str) -> dict[str, Defined]:
    kept = cq(state.objects, resource)
    assert kept is not None, resource
    return kept


def _key(observed: DefinitionObserved) -> str:
    return f"{observed.namespace}/{observed.name}" if observed.namespace else observed.name


def _defined(at_us: int, row: Row, observed: DefinitionObserved) -> Defined:
    fields = (name for name in row.defined.__struct_fields__ if name != "at_us")
    content: dict[str, Any] = {name: getattr(observed, name) for name in fields}
    return row.defined(at_us=at_us, **content)


def _is_same(fresh: Defined, known: Defined) -> bool:
    # Who wrote it last is told together with what changed, not by itself.
    aside: dict[str, Any] = {"at_us": known.at_us, "version": known.version}
    if isinstance(known, told.ClusterQueueDefined | told.CohortDefined | told.LocalQueueDefined):
        aside["author"] = known.author
    return replace(fresh, **aside) == known
