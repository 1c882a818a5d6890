"""At rest no workload that its queue's strategy offers fits without preemption."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.differential.eligible import eligible
from tests.differential.quota import Forest, Usage
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quantity import amount
from tidegate.model.quota import ClusterQueueSpec, ResourceGroup


def unserved(state: State) -> Iterator[str]:
    """Yield each offered workload that would fit into what is free, with where it would fit."""
    forest = forest_of(state)
    for queue, spec in _open_queues(state):
        waiting = [
            workload for workload in state.workloads.values() if _waits(state, workload, queue)
        ]
        waiting.sort(key=lambda workload: (-workload.priority, workload.created_us, workload.uid))
        offered = waiting[:1] if spec.strategy == "StrictFIFO" else waiting
        for workload in offered:
            mapping = next(_placements(state, forest, queue, spec, workload), None)
            if mapping is not None:
                places = {f"{fr.flavor}/{fr.resource}": units for fr, units in mapping.items()}
                yield f"{workload.key} waits in {queue}, but {places} is free"


def forest_of(state: State) -> Forest:
    """Return the quotas of a state with what its workloads hold."""
    objects = state.objects
    forest = Forest(
        {name: event.spec for name, event in objects.cluster_queues.items()},
        {name: event.spec for name, event in objects.cohorts.items()},
    )
    for workload in state.workloads.values():
        if workload.phase in {"reserved", "admitted", "evicting"}:
            forest.use(workload.cluster_queue, held(workload.assignment, left_of(workload)))
    return forest


def left_of(asked: Workload | WorkloadSubmitted) -> dict[str, int]:
    """Return how many pods of each podset are not done for good."""
    done = asked.reclaimable
    return {
        podset.name: max(0, podset.count - done.get(podset.name, 0)) for podset in asked.podsets
    }


def held(assignment: Iterable[PodSetAssignment], left_of: dict[str, int]) -> Usage:
    """Return what an assignment holds, for no more pods than are left of each podset."""
    usage: Usage = {}
    for given in assignment:
        for resource, units in given.usage.items():
            fr = FlavorResource(given.flavors[resource], resource)
            left = min(given.count, left_of.get(given.name, given.count))
            usage[fr] = usage.get(fr, 0) + (units // given.count * left if given.count else 0)
    return usage


def _open_queues(state: State) -> Iterator[tuple[str, ClusterQueueSpec]]:
    for name, event in state.objects.cluster_queues.items():
        if event.spec.stop_policy == "None":
            yield name, event.spec


def _waits(state: State, workload: Workload, queue: str) -> bool:
    """Tell whether a workload is offered now: one that backs off is not before its time."""
    return (
        workload.phase == "pending"
        and workload.active
        and workload.cluster_queue == queue
        and workload.requeue_after_us <= state.now_us
    )


def _placements(
    state: State, forest: Forest, queue: str, spec: ClusterQueueSpec, workload: Workload
) -> Iterator[Usage]:
    """Yield what each way of giving the workload flavors would use, if it fits now."""
    partial: list[Usage] = [{}]
    for podset in workload.podsets:
        asked = _asked(podset, workload.reclaimable)
        if not all(
            any(resource in resource_group.resources for resource_group in spec.groups)
            for resource in asked
        ):
            return
        for group in spec.groups:
            wanted = {name: asked[name] for name in group.resources if name in asked}
            if wanted:
                partial = [
                    usage
                    for before in partial
                    for usage in _with_group(state, before, podset, group, wanted)
                    if forest.fits(queue, usage)
                ]
    yield from partial


def _with_group(
    state: State, before: Usage, podset: PodSet, group: ResourceGroup, wanted: dict[str, int]
) -> Iterator[Usage]:
    for flavor in group.flavors:
        event = state.objects.flavors.get(flavor.flavor)
        if event is not None and eligible(podset, event.spec):
            usage = dict(before)
            for resource, units in wanted.items():
                fr = FlavorResource(flavor.flavor, resource)
                usage[fr] = usage.get(fr, 0) + units
            yield usage


def _asked(podset: PodSet, reclaimable: dict[str, int]) -> dict[str, int]:
    """Return the least that a podset starts with: its minimum count, if it has one."""
    count = podset.count - min(podset.count, reclaimable.get(podset.name, 0))
    if podset.min_count is not None:
        count = min(count, podset.min_count)
    asked: dict[str, int] = {}
    for container in podset.containers:
        for resource, text in container.requests.items():
            units = amount(resource, text) * count
            if units:
                asked[resource] = asked.get(resource, 0) + units
    return asked
