"""Who makes way once a ledger goes on without its newest entries: whom these had stopped.

Such a ledger adopts what runs by orders that it lost, even above quota. A job that the lost entries
had stopped holds quota here still, and starting it again beside what was adopted would run more
than there is. So its workload leaves and waits; what runs is left alone.
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
MAKES_WAY = 6
"""The version of the rules from which nobody is started again beside what leaves no quota."""


def make_way(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield whose quota is not there any more, those that lose the least first.

    Asked for of those whose start is due, when everything has been observed again.
    """
    if state.policy.rules < MAKES_WAY:
        return
    due = (state.workloads.get(key) for key in deadlines.due(state, FAMILY))
    stopped = [each for each in due if each is not None and _was_stopped(state, each)]
    for workload in sorted(stopped, key=_least_first):
        if _is_exceeded(state, workload):
            text = "The ledger was recovered, and others that run use the quota it held."
            yield evicted(state, workload, LEDGER_RECOVERED, message=text)


def _was_stopped(state: State, workload: Workload) -> bool:
    """Tell whether the ledger held a workload admitted when it was recovered, and it does not run.

    One in a cluster that is not heard of may run.
    """
    if not workload.recovered or is_silent(state, workload):
        return False
    waits = workload.state.suspended and not workload.state.active
    return waits and wanted(workload) == "start" and not agrees(state, workload)


def _least_first(workload: Workload) -> tuple[int, int, str]:
    return workload.priority, -workload.reserved_us, workload.key


def _is_exceeded(state: State, workload: Workload) -> bool:
    """Tell whether more is used than there is of what a workload holds, without who leaves."""
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None:
        return False
    rooms = forest(state).cluster_queues
    leaving = [(rooms[each.cluster_queue].node, each.charges) for each in cq.tree.leaving.values()]
    for node, charges in leaving:
        remove(node, charges)
    exceeded = any(amount > 0 and free(cell_of(cq.node, fr)) < 0 for fr, amount in workload.charges)
    for node, charges in leaving:
        add(node, charges)
    return exceeded
