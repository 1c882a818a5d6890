"""ClusterQueues that sleep: what is decided is what would be if every head were looked at."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    WorkloadHeld,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.core.forest import forest
from tidegate.core.night import Night, night_of
from tidegate.core.rooms import Tree
from tidegate.core.rules import VERSION, decide
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy, Strategy
from tidegate.model.quota import (
    WEIGHT_ONE,
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)

SEEDS = st.integers(min_value=0, max_value=10**9)
STEP_US = 10_000


class Cluster:
    """A cohort of queues drawn from a seed, and everything decided about it."""

    def __init__(self, seed: int, *, fair: bool, watched: Callable[[Tree], object]) -> None:
        self.draft, self.told, self.watched = Draft(), list[DecisionEvent](), watched
        self.rng, self.now_us, self.count = Random(seed), 0, 0
        self.running: dict[str, None] = {}
        policy = Policy(
            fair_sharing=self._strategies() if fair else (), repair_after_us=10**15, rules=VERSION
        )
        self.fold(facts.LedgerOpened(at_us=0, ledger_id="dozing"))
        self.fold(facts.WatchesExpected(at_us=0, resources=()))
        self.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
        self.fold(facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()))
        self.fold(facts.NamespaceDefined(at_us=0, name="ns"))
        self.queues = [self._queue(number) for number in range(self.rng.randint(2, 8))]

    def fold(self, event: FactEvent) -> None:
        """Fold a fact."""
        apply(self.draft, event)

    def step(self) -> None:
        """Let some time pass, in which workloads come and go, and decide."""
        self.now_us += STEP_US * self.rng.choice((1, 1, 1, 7))
        for _ in range(self.rng.choice((0, 1, 1, 2, 5))):
            self._submit()
        for key in self.rng.sample(sorted(self.running), min(len(self.running), 2)):
            if self.rng.random() < 0.4:
                del self.running[key]
                self.fold(facts.WorkloadFinished(at_us=self.now_us, workload=key, uid=key))
        self.fold(facts.TimePassed(at_us=self.now_us))
        self._decide()

    def _decide(self) -> None:
        most = self.rng.choice((5, 1_000))
        while True:
            for tree in forest(self.draft).trees:
                self.watched(tree)
            told = decide(self.draft, decisions_max=most)
            if not told:
                return
            self.told += told
            for one in told:
                self._obey(one)

    def _obey(self, one: DecisionEvent) -> None:
        match one:
            case StartOrdered():
                self.running[one.workload] = None
            case StopOrdered():
                self.running.pop(one.workload, None)
                stopped = facts.WorkloadStopped(
                    at_us=self.now_us, workload=one.workload, uid=one.workload
                )
                self.fold(stopped)
            case _:
                pass

    def _strategies(self) -> tuple[Strategy, ...]:
        return self.rng.choice((DEFAULT_STRATEGIES, DEFAULT_STRATEGIES[:1], DEFAULT_STRATEGIES[1:]))

    def _queue(self, number: int) -> str:
        rng, name = self.rng, f"queue-{number}"
        limit = rng.choice((None, None, 4_000, 20_000))
        quota = Quota(nominal=rng.choice((0, 4_000, 8_000)), borrowing_limit=limit)
        flavors = (FlavorQuotas(flavor="default", quotas={"cpu": quota}),)
        preemption = Preemption(
            within_cluster_queue=rng.choice(
                ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
            ),
            reclaim_within_cohort=rng.choice(("Never", "LowerPriority", "Any", "Any")),
            borrow_within_cohort=rng.choice(("Never", "Never", "LowerPriority")),
        )
        spec = ClusterQueueSpec(
            cohort="cohort",
            groups=(ResourceGroup(resources=("cpu",), flavors=flavors),),
            namespace_selector=LabelSelector(),
            preemption=preemption,
            weight=rng.choice((0, 1, 1, 1, 3)) * WEIGHT_ONE,
        )
        self.fold(facts.ClusterQueueDefined(at_us=0, name=name, spec=spec))
        leads = LocalQueueSpec(cluster_queue=name)
        self.fold(facts.LocalQueueDefined(at_us=0, name=name, namespace="ns", spec=leads))
        return name

    def _submit(self) -> None:
        name, cpu = f"w{self.count:04}", self.rng.choice((1, 1, 2, 3, 5, 30))
        self.count += 1
        podset = PodSet(containers=(Container(requests={"cpu": str(cpu)}),))
        submitted = facts.WorkloadSubmitted(
            at_us=self.now_us,
            workload=f"ns/{name}",
            uid=f"ns/{name}",
            job=ObjectRef(kind="batch/job", namespace="ns", name=name, uid=name),
            queue=self.rng.choice(self.queues),
            priority=self.rng.choice((0, 0, 10, 20)),
            created_us=self.now_us,
            podsets=(podset,),
        )
        self.fold(submitted)


def _keep_awake(tree: Tree) -> None:
    tree.night = False


def _leave_alone(tree: Tree) -> None:
    del tree


@pytest.mark.parametrize("fair", [False, True])
@given(seed=SEEDS)
@drawn(30)
def test_sleep_changes_no_decision(*, fair: bool, seed: int) -> None:
    sleepy = Cluster(seed, fair=fair, watched=_leave_alone)
    wakeful = Cluster(seed, fair=fair, watched=_keep_awake)
    for _ in range(40):
        sleepy.step()
        wakeful.step()
        assert sleepy.told == wakeful.told


@pytest.mark.parametrize("fair", [False, True])
def test_queues_do_sleep_where_all_wait(*, fair: bool) -> None:
    slept = list[int]()

    def count(tree: Tree) -> None:
        night = night_of(tree)
        slept.append(len(night.asleep) if isinstance(night, Night) else 0)

    for seed in range(5):
        cluster = Cluster(seed, fair=fair, watched=count)
        for _ in range(40):
            cluster.step()
    assert max(slept) > 1


def test_who_was_told_to_back_off_until_some_time_is_told_nothing_else_before() -> None:
    told = dict[tuple[int, str], int]()  # a workload of a seed to the time it was told
    for seed in range(6):
        cluster = Cluster(seed, fair=seed % 2 == 0, watched=_leave_alone)
        for _ in range(60):
            cluster.step()
        for one in cluster.told:
            if isinstance(one, WorkloadHeld | QuotaReserved):
                assert one.at_us >= told.get((seed, one.workload), 0)
            if isinstance(one, WorkloadHeld) and one.until_us:
                told[seed, one.workload] = one.until_us
    assert len(told) > 1
