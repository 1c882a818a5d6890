"""Who borrows goes behind who has quota of its own: asked of each turn in which somebody borrows.

Only what leaves no doubt is said. In the turn somebody started on quota of its queue's own, and
each workload that still waits in that queue would fit into the rest of it, had nobody borrowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.simulation.cluster import COHORT, milli
from tests.simulation.judging.verdict import demand
from tidegate.contracts.decisions import QuotaReserved
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

CPU = FlavorResource("default", "cpu")


def check_owners_first(state: State, turn: Iterable[object]) -> None:
    """Object if a queue borrowed what another of its cohort has waiting for quota of its own.

    What is kept for somebody whose victims are leaving is nobody's to count.
    """
    if any(state.workloads[key].cluster_queue in COHORT for key in state.intents):
        return
    reserved = [one for one in turn if isinstance(one, QuotaReserved)]
    queues = {one.cluster_queue for one in reserved if COHORT.get(one.cluster_queue)}
    borrowers = {name for name in queues if _spare(state, name) < 0}
    for name in queues - borrowers if borrowers else ():
        taken = sum(_asked(state.workloads[one]) for one in _by(state, reserved, borrowers))
        waiting = [one for one in state.workloads.values() if _waits(state, one, name)]
        most = max(map(_asked, waiting), default=0)
        cheated = 0 < most <= min(_spare(state, name), _free(state, name) + taken)
        keys = ", ".join(one.key for one in waiting)
        demand(
            not cheated, "quota", f"{sorted(borrowers)} borrows at {state.seq}, and {keys} waits"
        )


def _by(state: State, reserved: Iterable[QuotaReserved], queues: set[str]) -> Iterator[str]:
    """Yield who of some queues reserved quota and still holds it."""
    for one in reserved:
        held = state.workloads.get(one.workload)
        if one.cluster_queue in queues and held is not None and held.charges:
            yield one.workload


def _waits(state: State, one: Workload, queue: str) -> bool:
    """Tell whether a workload waits for nothing but quota."""
    if one.cluster_queue != queue or one.phase != "pending" or one.key in state.intents:
        return False
    waits = one.held is not None and not one.held.others
    return waits and not one.made_way_for and one.requeue_after_us <= state.now_us


def _asked(one: Workload) -> int:
    (podset,) = one.podsets
    return podset.count * sum(milli(pod.requests["cpu"]) for pod in podset.containers)


def _spare(state: State, queue: str) -> int:
    """Return what a queue has left of its own quota; below 0 it borrows."""
    cell = state.forest.cluster_queues[queue].node.cells[CPU]
    return cell.nominal - cell.usage


def _free(state: State, queue: str) -> int:
    """Return what the whole cohort has left."""
    return sum(_spare(state, one) for one in COHORT if COHORT[one] == COHORT[queue])
