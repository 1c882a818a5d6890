"""Jobs whose queue changed its partition: one removes them, the other requests a resync."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.fact_kinds import definitions as facts
from tidegate.contracts.facts import FactEvent, WorkloadRemoved
from tidegate.core.accepting.jobs.activity import is_idle
from tidegate.core.accepting.jobs.observed import let_go_all
from tidegate.core.accepting.partitions import is_ours
from tidegate.core.state.state import State
from tidegate.model.ids import DECIDED_ELSEWHERE


def settled(state: State, news: Iterator[FactEvent]) -> Iterator[FactEvent]:
    """Pass facts on; after one about queues, yield the removal of other partitions' workloads.

    Workloads with quota are kept until they have stopped. If jobs of a LocalQueue were skipped and
    belong to this partition now, it notes that a resync is needed.
    """
    for fact in news:
        yield fact
        for local_queue in _affected(state, fact):
            if not is_ours(state, local_queue):
                yield from _let_go(state, fact.at_us, local_queue)
            elif local_queue in state.dedup.passed_by:
                del state.dedup.passed_by[local_queue]
                state.dedup.missed = True


def _affected(state: State, fact: FactEvent) -> list[str]:
    """Return the LocalQueues whose partition may have changed by a fact."""
    if not (state.partition or state.objects.elsewhere or state.dedup.passed_by):
        return []
    match fact:
        case facts.LocalQueueDefined() | facts.LocalQueueRemoved():
            return [f"{fact.namespace}/{fact.name}"]
        case facts.ClusterQueueDefined() | facts.ClusterQueueRemoved() | facts.QueueElsewhere():
            queues = state.objects.local_queues.items()
            return [key for key, queue in queues if queue.spec.cluster_queue == fact.name]
        case _:
            return []


def _let_go(state: State, at_us: int, local_queue: str) -> Iterator[WorkloadRemoved]:
    for key in list(state.by_queue.get(local_queue, ())):
        workload = state.workloads.get(key)
        if workload is not None and is_idle(workload):
            yield from let_go_all(state, at_us, workload, workload.version, DECIDED_ELSEWHERE)
