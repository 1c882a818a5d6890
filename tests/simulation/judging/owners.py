"""Order of starts, asked of each turn: owners of quota before borrowers, and higher priority first.

Only what leaves no doubt is said, of queues that share one flavor and of workloads that wait for
nothing but quota. What is kept for a preemptor counts as taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tests.simulation.cluster import COHORT, milli
from tests.simulation.judging.verdict import demand
from tidegate.contracts.decisions import PreemptionIntended, QuotaReserved
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

CPU = FlavorResource("default", "cpu")


def check_owners_first(state: State, turn: Iterable[object], preemptors: Collection[str]) -> None:
    """Object if a queue borrowed what another of its cohort has waiting for quota of its own.

    In the turn a workload started on quota of its queue's own, and each one that still waits in
    that queue would fit into the rest of it, had no queue borrowed. Not so a preemptor: it goes
    first, and what it borrows its own queue gives back as its victims leave (docs/adr/0005).
    ``preemptors``: whose victims were leaving when the turn began.
    """
    items = list(turn)
    kept = {event.workload for event in items if isinstance(event, PreemptionIntended)}.union(
        preemptors
    )
    reserved = [
        event for event in items if isinstance(event, QuotaReserved) and event.workload not in kept
    ]
    queues = {decision.cluster_queue for decision in reserved if COHORT.get(decision.cluster_queue)}
    borrowed = {name: -_own(state, name) - _left_by(state, name) for name in queues}
    borrowers = {name for name, amount in borrowed.items() if amount > 0}
    for name in queues - borrowers if borrowers else ():
        taken = sum(
            min(_by(state, reserved, borrower), borrowed[borrower]) for borrower in borrowers
        )
        waiting = [
            workload for workload in state.workloads.values() if _waits(state, workload, name)
        ]
        most = max(map(_asked, waiting), default=0)
        cheated = 0 < most <= min(_spare(state, name), _free(state, name) + taken)
        keys = ", ".join(workload.key for workload in waiting)
        demand(
            not cheated, "quota", f"{sorted(borrowers)} borrows at {state.seq}, and {keys} waits"
        )


def check_ranks(state: State) -> None:
    """Object if those of highest priority wait while lower ones hold what they ask for.

    Asked of queues in which no workload is leaving or has a guaranteed time, and at no time at
    which one workload's pods must be ready before any other may start or preempt.
    """
    for name in () if _awaits_pods(state) else COHORT:
        queue = state.forest.cluster_queues.get(name)
        workloads = (
            workload for workload in state.workloads.values() if _waits(state, workload, name)
        )
        waiting = [workload for workload in workloads if _lacks_quota(workload)]
        if queue is None or not waiting or not _is_settled(state, queue):
            continue
        highest = max(workload.priority for workload in waiting)
        most = max(_asked(workload) for workload in waiting if workload.priority == highest)
        lower = sum(
            _charged(workload) for workload in queue.holding.values() if workload.priority < highest
        )
        free = _free(state, name) if COHORT[name] else _spare(state, name)
        outranks = lower > 0 and most <= min(_spare(state, name), free) + lower
        why = f"at {state.seq} {most}m waits in {name}, and lower ones hold {lower}m"
        demand(not outranks, "quota", why)


def _is_settled(state: State, queue: ClusterQueueState) -> bool:
    """Tell whether workloads that wait in a queue may evict now: none leaves, none is spared."""
    spared = queue.spec.min_runtime_us or any(
        workload.guaranteed for workload in queue.holding.values()
    )
    moves = any(state.workloads[key].cluster_queue in COHORT for key in state.intents)
    return queue.active and not (spared or moves or queue.tree.leaving)


def _awaits_pods(state: State) -> bool:
    """Tell whether one workload's pods must be ready before any other may start or preempt."""
    policy = state.policy.pods_ready
    if policy is None or not policy.block_admission:
        return False
    return any(workload.charges and not workload.ready for workload in state.workloads.values())


def _by(state: State, reserved: Iterable[QuotaReserved], queue: str) -> int:
    """Return what those workloads ask for that reserved quota in a queue and still hold it."""
    keys = [decision.workload for decision in reserved if decision.cluster_queue == queue]
    workloads = (state.workloads.get(key) for key in keys)
    return sum(
        _asked(workload) for workload in workloads if workload is not None and workload.charges
    )


def _waits(state: State, workload: Workload, queue: str) -> bool:
    """Tell whether a workload waits for nothing but quota."""
    if (
        workload.cluster_queue != queue
        or workload.phase != "pending"
        or workload.key in state.intents
    ):
        return False
    waits = workload.pending_status is not None and not workload.pending_status.others
    return waits and not workload.made_way_for and workload.requeue_after_us <= state.now_us


def _lacks_quota(workload: Workload) -> bool:
    """Tell whether a workload was told that it lacks quota, and takes over no other's."""
    return (
        workload.pending_status is not None
        and workload.pending_status.reason == "WaitingForQuota"
        and not workload.replaces
    )


def _asked(workload: Workload) -> int:
    (podset,) = workload.podsets
    return podset.count * sum(milli(pod.requests["cpu"]) for pod in podset.containers)


def _charged(workload: Workload) -> int:
    return sum(units for fr, units in workload.charges if fr == CPU)


def _own(state: State, queue: str) -> int:
    """Return what a queue has left of its own quota; below 0 it borrows."""
    cell = state.forest.cluster_queues[queue].node.cells[CPU]
    return cell.nominal - cell.usage


def _left_by(state: State, queue: str) -> int:
    """Return what the workloads that leave a queue still hold."""
    actual_state = state.forest.cluster_queues[queue]
    return sum(
        _charged(workload)
        for workload in actual_state.tree.leaving.values()
        if workload.cluster_queue == queue
    )


def _spare(state: State, queue: str) -> int:
    """Return what a queue has left of its own quota, with what it keeps for preemptors."""
    intents = (intent for intent in state.intents.values() if intent.cluster_queue == queue)
    kept = sum(units for intent in intents for fr, units in intent.charges if fr == CPU)
    return _own(state, queue) - kept


def _free(state: State, queue: str) -> int:
    """Return what the whole cohort has left."""
    return sum(_spare(state, text) for text in COHORT if COHORT[text] == COHORT[queue])
