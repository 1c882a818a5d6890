"""What one run of ``decide`` remembers, and the tree as the entries of a cycle see it.

All of it is forgotten at the end: the next turn starts from the state alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.folding.fold import apply
from tidegate.core.quota.tree import Node, add, fits, remove
from tidegate.core.state.cluster_queues import Tree
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

Charges = Iterable[tuple[FlavorResource, int]]
Scan = tuple[dict[str, int], ...]


class DecideContext(msgspec.Struct, kw_only=True, eq=False):
    """The state of one run of ``decide``."""

    state: State
    decisions_max: int
    kueue: bool  # follow Kueue's rules, its circles included
    decisions: list[DecisionEvent] = []
    cycle: int = 0  # the number of the cycle that runs
    reserved: list[tuple[Tree, Node, list[tuple[FlavorResource, int]]]] = []
    """What the cycle added to the trees beyond what is charged; negative: taken out."""
    shown: list[Tree] = []  # those that the cycle looks at
    victims: dict[str, Workload] = {}  # preempted in this cycle
    scanned: dict[str, tuple[Scan, int, int]] = {}
    """Kueue's way: how far scans of flavors got, in which cycle and behind which event, untold."""
    seen: list[dict[str, Scan]] = []  # those of the cycles since the last that changed more

    @property
    def number(self) -> int:
        """Return the cycle's number as events tell it: 0 where nothing depends on it."""
        return self.cycle if self.kueue else 0

    @property
    def full(self) -> bool:
        """Tell whether this turn has decided enough: the rest follows in the next."""
        return len(self.decisions) >= self.decisions_max

    def tell(self, decision: DecisionEvent) -> None:
        """Take a decision: fold it, and remember it for the ledger."""
        apply(self.state, decision)
        self.decisions.append(decision)

    def reserve(self, tree: Tree, node: Node, charges: Charges) -> None:
        """Let later entries of this cycle see usage that is not charged."""
        kept = [(fr, units) for fr, units in charges if units]
        add(node, kept)
        self.reserved.append((tree, node, kept))

    def begin(self, trees: Iterable[Tree]) -> None:
        """Show each tree as it will be: without those who leave, with what is intended."""
        if self.kueue:
            return
        cluster_queues = self.state.forest.cluster_queues
        for tree in trees:
            tree.shown = True
            self.shown.append(tree)
            for workload in tree.leaving.values():
                taken = [(fr, -units) for fr, units in workload.charges]
                self.reserve(tree, cluster_queues[workload.cluster_queue].node, taken)
        for intent in self.state.intents.values():
            cq = cluster_queues.get(intent.cluster_queue)
            if cq is not None and cq.tree.shown:
                self.reserve(cq.tree, cq.node, intent.charges)

    def end(self) -> None:
        """Show the trees as they are again."""
        for shown in self.shown:
            shown.shown = False
        for _, node, charges in reversed(self.reserved):
            remove(node, charges)
        self.reserved, self.victims, self.shown = [], {}, []

    def fits_now(self, tree: Tree, node: Node, charges: Charges) -> bool:
        """Tell whether charges fit beside all that is charged, whoever may be leaving."""
        shown = [(at, kept) for of, at, kept in self.reserved if of is tree]
        for at, kept in shown:
            remove(at, kept)
        found = fits(node, charges)
        for at, kept in shown:
            add(at, kept)
        return found
