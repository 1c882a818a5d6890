"""The changes of a what-if: objects that replace recorded objects, and single fields.

A field that is set stays set: each later recorded version of its object gets it, too. The recorded
versions of an object that is given as a whole are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tidegate.contracts.facts import (
    CheckDefined,
    ClusterQueueDefined,
    CohortDefined,
    FactEvent,
    FlavorDefined,
    LimitRangeDefined,
    LocalQueueDefined,
    Named,
    NamespaceDefined,
    PolicyConfigured,
    PriorityClassDefined,
    RuntimeClassDefined,
    WorkloadChanged,
    WorkloadPriorityClassDefined,
    WorkloadSubmitted,
)
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, write
from tidegate.core.state.state import State
from tidegate.replay.simulator.scenario import Scenario

Defined: TypeAlias = (
    ClusterQueueDefined
    | CohortDefined
    | LocalQueueDefined
    | FlavorDefined
    | WorkloadPriorityClassDefined
    | PriorityClassDefined
    | NamespaceDefined
    | LimitRangeDefined
    | RuntimeClassDefined
    | CheckDefined
)
Target: TypeAlias = tuple[str, str]
"""A kind, e.g. ``clusterqueue``, and a name or "<namespace>/<name>", or a workload's key."""
KINDS: dict[str, str] = {
    "ClusterQueue": "clusterqueue",
    "Cohort": "cohort",
    "LocalQueue": "localqueue",
    "Flavor": "flavor",
    "WorkloadPriorityClass": "workloadpriorityclass",
    "PriorityClass": "priorityclass",
    "Namespace": "namespace",
    "LimitRange": "limitrange",
    "RuntimeClass": "runtimeclass",
    "Check": "check",
    "Policy": "policy",
}
POLICY: Target = ("policy", "")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One field that is set, of one object."""

    target: Target
    text: str  # as the user wrote it
    change: Callable[[FactEvent], FactEvent]
    """Returns the object with the field set; the same if this version of it has no such field."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """All changes of a what-if."""

    settings: tuple[Setting, ...] = ()
    objects: tuple[Defined, ...] = ()


def with_changes(scenario: Scenario, changes: Changes) -> tuple[Scenario, set[str]]:
    """Return a scenario with the changes applied, and the texts of the settings with an effect."""
    hits = set[str]()
    state = decode(scenario.start)
    for fact in _initial_changes(state, scenario.from_us, changes, hits):
        apply(state, fact)
    # A change may cause a decision at once: the first turn in virtual time takes it.
    facts = tuple(_changed_facts(scenario, changes, hits, begun=state.seq > 0))
    return replace(scenario, start=write(state), facts=facts), hits


def target_of(fact: FactEvent) -> Target | None:
    """Return the object that a fact is about; None: it cannot be changed."""
    if isinstance(fact, WorkloadSubmitted | WorkloadChanged):
        return "workload", fact.workload
    if isinstance(fact, PolicyConfigured):
        return POLICY
    if not isinstance(fact, Named):
        return None
    kind = KINDS.get(type(fact).__name__.removesuffix("Defined").removesuffix("Removed"))
    if kind is None:  # another partition's ClusterQueue
        return None
    return kind, f"{fact.namespace}/{fact.name}" if fact.namespace else fact.name


def _initial_changes(
    state: State, at_us: int, changes: Changes, hits: set[str]
) -> Iterator[FactEvent]:
    """Yield the changed definitions at the beginning, if the scenario begins with a state."""
    if state.seq == 0:
        return
    changed_targets = {target_of(definition) for definition in changes.objects}
    for new_definition in changes.objects:
        yield replace(new_definition, at_us=at_us)
    for fact in definitions_of(state):
        after = _apply_settings(fact, changes.settings, hits)
        if after is not fact and target_of(fact) not in changed_targets:
            yield replace(after, at_us=at_us)
    for fact in requests_of(state):
        after = _apply_settings(fact, changes.settings, hits)
        if after is not fact:
            yield after


def requests_of(state: State) -> Iterator[WorkloadChanged]:
    """Yield the request of each workload of a state."""
    for workload in state.workloads.values():
        yield WorkloadChanged(
            at_us=state.now_us,
            workload=workload.key,
            uid=workload.uid,
            version=workload.version,
            queue=workload.queue,
            priority_class=workload.priority_class,
            pod_priority_class=workload.pod_priority_class,
            priority=workload.own_priority,
            podsets=workload.podsets,
            active=workload.active,
            max_execution_s=workload.max_execution_s,
            author=workload.author,
            priority_boost=workload.priority_boost,
            gates=workload.gates,
            preemption_gates=workload.preemption_gates,
            allowed_flavors=workload.allowed_flavors,
            replaces=workload.replaces,
            held_quota=workload.held_quota,
            held_places=workload.held_places,
            elastic=workload.elastic,
        )


def definitions_of(state: State) -> Iterator[FactEvent]:
    """Yield the definitions of a state that can be changed."""
    objects = state.objects
    yield PolicyConfigured(at_us=0, name="", policy=state.policy)
    for definitions in (
        objects.flavors,
        objects.cohorts,
        objects.cluster_queues,
        objects.local_queues,
        objects.workload_priority_classes,
        objects.priority_classes,
    ):
        yield from definitions.values()


def _changed_facts(
    scenario: Scenario, changes: Changes, hits: set[str], *, begun: bool
) -> Iterator[FactEvent]:
    """Yield the changed facts; an object given as a whole comes at its first recorded version."""
    assigned = {target_of(definition): definition for definition in changes.objects}
    remaining = {} if begun else dict(assigned)
    targets = {target_of(fact) for fact in scenario.facts}
    for fact in scenario.facts:
        target = target_of(fact)
        if target in assigned:
            if target in remaining:
                yield replace(remaining.pop(target), at_us=fact.at_us)
        else:
            yield _apply_settings(fact, changes.settings, hits)
        for new in [
            target for target in remaining if target not in targets
        ]:  # after the ledger's first fact
            yield replace(remaining.pop(new), at_us=fact.at_us)


def _apply_settings(fact: FactEvent, settings: Iterable[Setting], hits: set[str]) -> FactEvent:
    target = target_of(fact)
    for setting in settings:
        if setting.target == target:
            before, fact = fact, setting.change(fact)
            if fact is not before:
                hits.add(setting.text)
    return fact
