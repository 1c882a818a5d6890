"""One search for victims: the preemptor, its requests, and candidates taken out of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tidegate.contracts.decisions import PreemptionReason, Victim
from tidegate.core.queueing.displaced import is_held_back
from tidegate.core.quota.tree import Node, add_usage, cell_available, remove_usage
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

FOR_SHARES: PreemptionReason = "InCohortFairSharing"


class Target(msgspec.Struct, kw_only=True, eq=False):
    """A workload that is to be preempted."""

    workload: Workload
    cluster_queue: str
    reason: PreemptionReason


class Trial(msgspec.Struct, kw_only=True, eq=False):
    """The preemptor of one search, and its requests."""

    state: State
    cq: ClusterQueueState  # the preemptor's
    workload: Workload  # the preemptor
    needs: tuple[FlavorResource, ...]  # flavor-resources that do not fit without preemption
    amounts: dict[FlavorResource, int]  # all its requests, without zeros
    placeable: Callable[[], bool] | None = None  # whether its pods find nodes now; None: anywhere

    @property
    def is_limited_to_own_queue(self) -> bool:
        """Tell whether the preemptor may preempt in its own ClusterQueue only.

        A workload that was preempted may, until something other than a preemption changes; then
        one such workload may preempt elsewhere, for each such change. This ends every circle of
        preemptions and keeps chains short; see docs/adr/0005-ending-preemption-circles.md and 0021.
        """
        return is_displaced(self.state, self.cq, self.workload)

    @property
    def is_within_own_quota(self) -> bool:
        """Tell whether the preemptor stays within its queue's own quota of all ``needs``."""
        cells = self.cq.node.cells
        for fr in self.needs:
            cell = cells.get(fr)
            if cell is not None and cell.usage + self.amounts.get(fr, 0) > cell.subtree_quota:
                return False
        return True

    def node(self, candidate: Workload) -> Node:
        """Return the node of a candidate's ClusterQueue."""
        return self.state.forest.cluster_queues[candidate.cluster_queue].node

    def remove_candidate(self, candidate: Workload) -> None:
        """Subtract a candidate's usage from the tree and its nodes."""
        remove_usage(self.node(candidate), candidate.charges)
        self.state.forest.topologies.shift(candidate.key, -1)

    def restore_candidate(self, candidate: Workload) -> None:
        """Undo ``take_out``."""
        add_usage(self.node(candidate), candidate.charges)
        self.state.forest.topologies.shift(candidate.key, 1)

    def fits(self, *, borrowing: bool) -> bool:
        """Tell whether the preemptor fits now, within its own quota unless ``borrowing``."""
        cells = self.cq.node.cells
        for fr, units in self.amounts.items():
            cell = cells[fr]
            if not borrowing and cell.usage + units > cell.subtree_quota:
                return False
            if units > cell_available(cell):
                return False
        return self.placeable is None or self.placeable()

    def fill_back(self, targets: list[Target], *, borrowing: bool) -> list[Target]:
        """Drop targets that need not leave, the newest first; the last of all must leave.

        Puts all targets back into the tree.
        """
        for at in range(len(targets) - 2, -1, -1):
            self.restore_candidate(targets[at].workload)
            if self.fits(borrowing=borrowing):
                targets[at] = targets[-1]
                targets.pop()
            else:
                self.remove_candidate(targets[at].workload)
        self.restore_targets(targets)
        return targets

    def restore_targets(self, targets: list[Target]) -> None:
        """Put all targets back into the tree."""
        for target in targets:
            self.restore_candidate(target.workload)


def never_preempts(state: State, never: bool) -> bool:  # noqa: FBT001 - as its class says
    """Tell whether a workload preempts none; ``never``: its class has preemptionPolicy Never."""
    return never and state.scan.honours_never


def is_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload was preempted and therefore may not preempt in other ClusterQueues.

    It may again once its tree has changed since other than by preemption, unless another displaced
    workload has used that change for a preemption.
    """
    if not state.scan.forbids_moving_back or not workload.displaced_seq:
        return False
    return cq.tree.outside_seq <= max(workload.displaced_seq, cq.tree.moved_seq)


def may_preempt_for_shares(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload may preempt others because their ClusterQueue has the larger share.

    A new workload may. A displaced one may use unused quota and its ClusterQueue's own, but may not
    preempt for shares until its ClusterQueue changed other than by preemption; one displaced
    workload may for each such change: see docs/adr/0013. None may in place of a displaced one of
    higher priority that may not: see docs/adr/0032.
    """
    if not state.scan.forbids_moving_back:
        return True
    displaced_seq = workload.displaced_seq
    if displaced_seq and cq.outside_seq <= max(displaced_seq, cq.moved_seq):
        return False
    return not is_held_back(cq, workload.priority)


def fold_displaced_preemption(
    state: State, cq: ClusterQueueState, workload: Workload, victims: Iterable[Victim]
) -> None:
    """Note that a displaced workload has preempted others in turn; only folds call this."""
    if not workload.displaced_seq:
        return
    for victim in victims:
        if victim.cluster_queue != cq.name:
            cq.tree.moved_seq = state.seq
        if victim.reason == FOR_SHARES:
            cq.moved_seq = state.seq


def is_within_quota(node: Node, needs: tuple[FlavorResource, ...]) -> bool:
    """Tell whether a node uses at most its subtree's quota of each of ``needs``."""
    cells = node.cells
    for fr in needs:
        cell = cells.get(fr)
        if cell is not None and cell.usage > cell.subtree_quota:
            return False
    return True


def is_queue_borrowing(cq: ClusterQueueState, needs: Iterable[FlavorResource]) -> bool:
    """Tell whether a queue's workloads with quota use more of one of ``needs`` than its quota.

    Quota reserved for a waiting preemptor does not count: no workload that runs within the queue's
    own quota has to leave for it.
    """
    cells, intended = cq.node.cells, cq.intent_units
    for fr in needs:
        cell = cells.get(fr)
        if cell is not None and cell.usage - intended.get(fr, 0) > cell.subtree_quota:
            return True
    return False
