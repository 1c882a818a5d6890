"""What one run of ``decide`` remembers, and the tree as the entries of a cycle see it.

All of it is forgotten at the end: the next turn starts from the draft alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.draft import Draft, Workload
from tidegate.core.fold import apply
from tidegate.core.rooms import Tree
from tidegate.core.tree import Node, add, fits, remove
from tidegate.model.ids import FlavorResource

Charges = Iterable[tuple[FlavorResource, int]]
Scan = tuple[dict[str, int], ...]


class Pass(msgspec.Struct, kw_only=True, eq=False):
    """The state of one run of ``decide``."""

    draft: Draft
    decisions_max: int
    kueue: bool  # follow Kueue's rules, its circles included
    decisions: list[DecisionEvent] = []
    cycle: int = 0  # the number of the cycle that runs
    reserved: list[tuple[Tree, Node, list[tuple[FlavorResource, int]]]] = []
    """What the cycle added to the trees beyond what is charged; negative: taken out."""
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
        apply(self.draft, decision)
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
        rooms, shown = self.draft.forest.rooms, set[int]()
        for tree in trees:
            shown.add(id(tree))
            for workload in tree.leaving.values():
                taken = [(fr, -units) for fr, units in workload.charges]
                self.reserve(tree, rooms[workload.cluster_queue].node, taken)
        for intent in self.draft.intents.values():
            room = rooms.get(intent.cluster_queue)
            if room is not None and id(room.tree) in shown:
                self.reserve(room.tree, room.node, intent.charges)

    def end(self) -> None:
        """Show the trees as they are again."""
        for _, node, charges in reversed(self.reserved):
            remove(node, charges)
        self.reserved, self.victims = [], {}

    def fits_now(self, tree: Tree, node: Node, charges: Charges) -> bool:
        """Tell whether charges fit beside all that is charged, whoever may be leaving."""
        shown = [(at, kept) for of, at, kept in self.reserved if of is tree]
        for at, kept in shown:
            remove(at, kept)
        found = fits(node, charges)
        for at, kept in shown:
            add(at, kept)
        return found
