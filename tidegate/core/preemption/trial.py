"""One search for victims: who asks, for what, and who has been taken out of the tree so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tidegate.contracts.decisions import PreemptionReason, Victim
from tidegate.core.preemption.candidates import CandidateKey, order_key
from tidegate.core.quota.tree import Node, add, free, remove
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

FOR_SHARES: PreemptionReason = "InCohortFairSharing"


class Target(msgspec.Struct, kw_only=True, eq=False):
    """Somebody who must leave."""

    workload: Workload
    cluster_queue: str
    reason: PreemptionReason


class Trial(msgspec.Struct, kw_only=True, eq=False):
    """The question of one search, and its state."""

    state: State
    cq: ClusterQueueState  # the preemptor's
    workload: Workload  # the preemptor
    needs: tuple[FlavorResource, ...]  # what does not fit as it is
    amounts: dict[FlavorResource, int]  # all that it asks for, without zeros
    placeable: Callable[[], bool] | None = None  # whether its pods find places now; None: anywhere
    keys: dict[str, CandidateKey] = {}  # of candidates, as the tree was before anybody left

    @property
    def stays_home(self) -> bool:
        """Tell whether the preemptor may preempt in its own ClusterQueue only.

        Whoever was preempted itself may, until something changes that was no preemption, and one
        of them for each such change: this ends every circle, and keeps chains short; see
        docs/adr/0005-ending-preemption-circles.md and 0021.
        """
        return is_displaced(self.state, self.cq, self.workload)

    @property
    def fits_quota(self) -> bool:
        """Tell whether the preemptor would use no more than its own quota of what it needs."""
        cells = self.cq.node.cells
        for fr in self.needs:
            cell = cells.get(fr)
            if cell is not None and cell.usage + self.amounts.get(fr, 0) > cell.quota:
                return False
        return True

    def key(self, candidate: Workload) -> CandidateKey:
        """Return what candidates are sorted by: first asked while nobody is taken out."""
        key = self.keys.get(candidate.key)
        if key is None:
            key = order_key(self.state, candidate, self.cq.name, self.needs)
            self.keys[candidate.key] = key
        return key

    def node(self, candidate: Workload) -> Node:
        """Return the node that a candidate is charged at."""
        return self.state.forest.cluster_queues[candidate.cluster_queue].node

    def take_out(self, candidate: Workload) -> None:
        """Try the tree without a candidate."""
        remove(self.node(candidate), candidate.charges)
        self.state.forest.topologies.shift(candidate.key, -1)

    def put_back(self, candidate: Workload) -> None:
        """Undo ``take_out``."""
        add(self.node(candidate), candidate.charges)
        self.state.forest.topologies.shift(candidate.key, 1)

    def fits(self, *, borrowing: bool) -> bool:
        """Tell whether the preemptor fits now, within its own quota unless ``borrowing``."""
        cells = self.cq.node.cells
        for fr, units in self.amounts.items():
            cell = cells[fr]
            if not borrowing and cell.usage + units > cell.quota:
                return False
            if units > free(cell):
                return False
        return self.placeable is None or self.placeable()

    def fill_back(self, targets: list[Target], *, borrowing: bool) -> list[Target]:
        """Let those stay who need not leave, the newest first; the last of all must leave.

        Puts everybody back into the tree.
        """
        for at in range(len(targets) - 2, -1, -1):
            self.put_back(targets[at].workload)
            if self.fits(borrowing=borrowing):
                targets[at] = targets[-1]
                targets.pop()
            else:
                self.take_out(targets[at].workload)
        self.restore(targets)
        return targets

    def restore(self, targets: list[Target]) -> None:
        """Put everybody back into the tree."""
        for target in targets:
            self.put_back(target.workload)


def is_displaced(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload was preempted, and may not preempt in other ClusterQueues for that.

    It may once its tree has changed from outside since, unless another who had been preempted did
    so for that change.
    """
    if not state.scan.moves_for_good or not workload.displaced_seq:
        return False
    return cq.tree.outside_seq <= max(workload.displaced_seq, cq.tree.moved_seq)


def may_move_shares(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a workload may displace others because their ClusterQueue has the larger share.

    Each may once it was submitted; a displaced one itself takes unused quota, and what its
    ClusterQueue has of its own, but displaces nobody for shares until its ClusterQueue changed from
    outside, and then one of them: see docs/adr/0013.
    """
    if not state.scan.moves_for_good or not workload.displaced_seq:
        return True
    return cq.outside_seq > max(workload.displaced_seq, cq.moved_seq)


def note_moves(
    state: State, cq: ClusterQueueState, workload: Workload, victims: Iterable[Victim]
) -> None:
    """Note when somebody who had been displaced displaces others in their turn; folds call it."""
    if not workload.displaced_seq:
        return
    for victim in victims:
        if victim.cluster_queue != cq.name:
            cq.tree.moved_seq = state.seq
        if victim.reason == FOR_SHARES:
            cq.moved_seq = state.seq


def within_quota(node: Node, needs: tuple[FlavorResource, ...]) -> bool:
    """Tell whether a node uses no more than its subtree has of all of these."""
    cells = node.cells
    for fr in needs:
        cell = cells.get(fr)
        if cell is not None and cell.usage > cell.quota:
            return False
    return True


def takes_more(cq: ClusterQueueState, needs: Iterable[FlavorResource]) -> bool:
    """Tell whether those who hold quota of a queue use more of one of these than it has.

    What is only kept for a preemptor that waits does not count: nobody who runs within the queue's
    own quota has to leave for it.
    """
    cells, intended = cq.node.cells, cq.intended
    for fr in needs:
        cell = cells.get(fr)
        if cell is not None and cell.usage - intended.get(fr, 0) > cell.quota:
            return True
    return False
