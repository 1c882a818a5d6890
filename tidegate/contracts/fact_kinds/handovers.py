"""Facts about trees of cohorts that move from one partition to another; see docs/adr/0027."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact
from tidegate.contracts.observed.handovers import RunningWorkload, SpentBudget


class HandoverRoot(Fact, frozen=True, kw_only=True):
    """Root of the facts about trees that move; never written itself."""


class MoveRequested(HandoverRoot, frozen=True, kw_only=True, tag="MoveRequested/1"):
    """An annotation requests a ClusterQueue's or Cohort's move to another partition, or no move."""

    kind: Literal["ClusterQueue", "Cohort"]
    name: str
    uid: str
    version: int
    to: int  # the ledger's own partition: no move


class TreeReleased(HandoverRoot, frozen=True, kw_only=True, tag="TreeReleased/1"):
    """A tree is released to another partition: all of it requests this, nothing is under way."""

    to: int
    queues: tuple[str, ...] = ()
    cohorts: tuple[str, ...] = ()


class WorkloadsHandedOver(HandoverRoot, frozen=True, kw_only=True, tag="WorkloadsHandedOver/1"):
    """Workloads run in a tree that is taken next; each is adopted once its job is observed."""

    workloads: tuple[RunningWorkload, ...]


class TreeTaken(HandoverRoot, frozen=True, kw_only=True, tag="TreeTaken/1"):
    """A tree that another partition released belongs to this partition from now on."""

    of_partition: int
    ledger_id: str  # of the partition that released it
    seq: int  # of TreeReleased in that ledger
    queues: tuple[str, ...] = ()
    cohorts: tuple[str, ...] = ()


class BudgetsTaken(HandoverRoot, frozen=True, kw_only=True, tag="BudgetsTaken/1"):
    """The amounts spent of a tree's budgets before it was taken."""

    spent: tuple[SpentBudget, ...]


class HandoverConfirmed(HandoverRoot, frozen=True, kw_only=True, tag="HandoverConfirmed/1"):
    """The other partition has taken a tree that was released to it."""

    released_seq: int  # of TreeReleased in this ledger


HandoverFact: TypeAlias = (
    MoveRequested
    | TreeReleased
    | WorkloadsHandedOver
    | TreeTaken
    | BudgetsTaken
    | HandoverConfirmed
)
