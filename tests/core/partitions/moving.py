"""A world whose trees move between partitions, by messages that may be lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from tests.core.partitions.world import TREES, Partition, World
from tests.core.queues import of_cpu
from tests.core.telling import flavor
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved, StopOrdered
from tidegate.contracts.observations import (
    ClusterQueueObserved,
    CohortObserved,
    JobObserved,
    Observation,
)
from tidegate.core.accepting.handovers import unconfirmed_releases
from tidegate.core.folding.snapshot import decode, encode
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import Budget, Quota

CPU = 1_000
ROOTS = {name: tree or name for name, tree in TREES.items()}
"""ClusterQueue to its tree."""
FLAVORS = ("default", "spot")


class MovingWorld(World):
    """See ``World``; each ClusterQueue has two flavors, so that what is guessed is found out."""

    def __init__(self, seed: int, partitions: Sequence[Partition], *, lost: float = 0.0) -> None:
        super().__init__(seed, partitions, {})
        self.lost = lost  # the share of the partitions' messages
        self.asked = dict[str, int]()  # tree to the partition that its objects ask for
        self.nominal = dict[str, int]()  # of each flavor, by ClusterQueue
        self.budgets: tuple[Budget, ...] = ()  # of each ClusterQueue
        self.delayed: list[DecisionEvent] | None = None  # decided, not carried out; None: nothing

    def _carry_out(self, decided: Sequence[DecisionEvent]) -> None:
        if self.delayed is None:
            super()._carry_out(decided)
        else:
            self.delayed += decided

    def catch_up(self) -> None:
        """Carry out what was decided while the actuators delayed it."""
        delayed, self.delayed = self.delayed or [], None
        self._carry_out(delayed)

    def begin(self) -> None:
        """See ``World.begin``."""
        self._put(flavor("spot"))
        super().begin()

    def define(self, name: str, nominal: int) -> None:
        """See ``World.define``."""
        self.nominal[name] = nominal
        quotas = {each: Quota(nominal=nominal) for each in FLAVORS}
        spec = replace(of_cpu(quotas, cohort=TREES[name]), budgets=self.budgets)
        self._put(
            ClusterQueueObserved(
                name=name,
                uid=f"cq-{name}",
                version=0,
                session="a",
                spec=spec,
                move_to=self.asked.get(ROOTS[name]),
            )
        )

    def move(self, tree: str, to: int) -> None:
        """Ask that a tree be another partition's, one object after the other."""
        self.asked[tree] = to
        for cohort in [
            observation for observation in self.of(CohortObserved) if observation.name == tree
        ]:
            self._put(replace(cast("CohortObserved", cohort), move_to=to))
        for name in [name for name, root in ROOTS.items() if root == tree]:
            self.define(name, self.nominal[name])

    def pass_time(self) -> None:
        """See ``World.pass_time``; what partitions have to say to each other is said, or lost."""
        super().pass_time()
        for partition in self.partitions:
            state = partition.bus.state
            observations: list[Observation] = [
                *unconfirmed_releases(state),
                *state.dedup.confirms.values(),
            ]
            state.dedup.confirms.clear()
            for each in observations:
                if self.random.random() >= self.lost:
                    self.tell(each)

    def crash(self, partition: Partition) -> None:
        """Let a scheduler begin anew from its ledger."""
        partition.bus.state = decode(encode(partition.bus.state))
        self.resync()

    def running(self) -> list[JobObserved]:
        """Return the jobs that run."""
        return [job for job in self.jobs() if not job.state.suspended]

    def check(self) -> None:
        """Assert that nothing was stopped, given away twice, or charged otherwise than at first."""
        used = Counter[str]()
        for job in self.running():
            used[ROOTS[job.queue]] += int(job.podsets[0].containers[0].requests["cpu"]) * CPU
        for tree, amount in used.items():
            names = [name for name, root in ROOTS.items() if root == tree]
            assert amount <= sum(len(FLAVORS) * self.nominal[name] for name in names)
        granted = self._granted()
        charged = Counter[str]()
        for partition in self.partitions:
            assert not any(isinstance(event, StopOrdered) for event in partition.decisions)
            for workload in partition.bus.state.workloads.values():
                if workload.phase == "admitted":
                    charged[workload.key] += 1
                    assert workload.assignment == granted[workload.key]
        assert set(charged.values()) <= {1}

    def _granted(self) -> dict[str, tuple[PodSetAssignment, ...]]:
        events = [each for partition in self.partitions for each in partition.decisions]
        granted = [each for each in events if isinstance(each, QuotaReserved)]
        return {each.workload: each.assignment for each in granted}
