"""Evicts workloads after a ledger lost its newest entries, if those had stopped their jobs.

Such a ledger adopts jobs that run by lost orders, even above quota. A job that the lost entries had
stopped still holds quota in the ledger, and a new start beside the adopted jobs would exceed the
quota. So its workload is evicted and waits; running jobs go on.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.admission.orders import evicted
from tidegate.core.members.standing import is_silent
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import add, cell_of, free, remove
from tidegate.core.state import deadlines
from tidegate.core.state.desired_state import FAMILY, agrees, wanted
from tidegate.core.state.state import State, Workload

LEDGER_RECOVERED = "LedgerRecovered"


def make_way(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield evictions of recovered workloads whose quota adopted jobs use, the least loss first.

    Considers workloads whose start is due, once all objects have been observed again.
    """
    due = (state.workloads.get(key) for key in deadlines.due(state, FAMILY))
    stopped = [each for each in due if each is not None and _was_stopped(state, each)]
    for workload in sorted(stopped, key=_least_first):
        if _is_exceeded(state, workload):
            text = "The ledger was recovered, and others that run use the quota it held."
            yield evicted(state, workload, LEDGER_RECOVERED, message=text)


def _was_stopped(state: State, workload: Workload) -> bool:
    """Tell whether a workload was admitted when the ledger was recovered, and does not run.

    False for a workload in a silent cluster: it may run.
    """
    if not workload.recovered or is_silent(state, workload):
        return False
    waits = workload.state.suspended and not workload.state.active
    return waits and wanted(workload) == "start" and not agrees(state, workload)


def _least_first(workload: Workload) -> tuple[int, int, str]:
    return workload.priority, -workload.reserved_us, workload.key


def _is_exceeded(state: State, workload: Workload) -> bool:
    """Tell whether usage exceeds quota in a workload's flavor-resources without leaving ones."""
    queues = forest(state).cluster_queues
    cq = queues.get(workload.cluster_queue)
    if cq is None:
        return False
    leaving = [(queues[each.cluster_queue].node, each.charges) for each in cq.tree.leaving.values()]
    for node, charges in leaving:
        remove(node, charges)
    exceeded = any(amount > 0 and free(cell_of(cq.node, fr)) < 0 for fr, amount in workload.charges)
    for node, charges in leaving:
        add(node, charges)
    return exceeded
