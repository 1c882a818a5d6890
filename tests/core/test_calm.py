"""Trees in which nobody may be preempted: served fairly, wholly, and alike after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.allowance import excesses
from tests.differential.rest import unserved
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved, WorkloadHeld
from tidegate.contracts.facts import FactEvent
from tidegate.core.calm import calm
from tidegate.core.draft import Draft
from tidegate.core.fold import apply
from tidegate.core.forest import forest
from tidegate.core.rules import decide
from tidegate.core.snapshot import decode, encode
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy
from tidegate.model.quota import (
    WEIGHT_ONE,
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

SEEDS = st.integers(min_value=0, max_value=10**9)


class Cluster:
    """A draft, and everything that was folded into it."""

    def __init__(self) -> None:
        self.draft, self.count = Draft(), 0
        self.journal: list[FactEvent | DecisionEvent] = []
        policy = Policy(fair_sharing=DEFAULT_STRATEGIES)
        self.fold(facts.LedgerOpened(at_us=0, ledger_id="calm"))
        self.fold(facts.WatchesExpected(at_us=0, resources=()))
        self.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
        self.fold(facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()))
        self.fold(facts.NamespaceDefined(at_us=0, name="ns"))

    def fold(self, event: FactEvent) -> None:
        """Fold a fact."""
        apply(self.draft, event)
        self.journal.append(event)

    def decide(self, decisions_max: int = 1_000) -> list[DecisionEvent]:
        """Take one turn."""
        told = decide(self.draft, decisions_max=decisions_max)
        self.journal += told
        return told

    def queue(self, name: str, cohort: str, cpu: int, borrowing: int | None, weight: int) -> None:
        """Define a ClusterQueue and the LocalQueue of the same name."""
        limit = None if borrowing is None else borrowing * 1_000
        quota = Quota(nominal=cpu * 1_000, borrowing_limit=limit)
        flavors = (FlavorQuotas(flavor="default", quotas={"cpu": quota}),)
        spec = ClusterQueueSpec(
            cohort=cohort,
            groups=(ResourceGroup(resources=("cpu",), flavors=flavors),),
            namespace_selector=LabelSelector(),
            weight=weight * WEIGHT_ONE,
        )
        self.fold(facts.ClusterQueueDefined(at_us=0, name=name, spec=spec))
        leads = LocalQueueSpec(cluster_queue=name)
        self.fold(facts.LocalQueueDefined(at_us=0, name=name, namespace="ns", spec=leads))

    def submit(self, queue: str, cpu: int, priority: int = 0) -> None:
        """Submit a workload; its name tells its place among all."""
        self.count += 1
        name = f"w{self.count:03}"
        self.fold(
            facts.WorkloadSubmitted(
                at_us=self.count,
                workload=f"ns/{name}",
                uid=name,
                job=ObjectRef(kind="batch/job", namespace="ns", name=name, uid=name),
                queue=queue,
                priority=priority,
                created_us=self.count,
                podsets=(PodSet(containers=(Container(requests={"cpu": str(cpu)}),)),),
            )
        )

    def finish(self, workload: str) -> None:
        """End a workload."""
        uid = workload.partition("/")[2]
        self.fold(facts.WorkloadFinished(at_us=self.count, workload=workload, uid=uid))


def cluster(rng: Random) -> Cluster:
    """Return queues under cohorts of cohorts, with limits and weights."""
    made = Cluster()
    for index in range(3):
        spec = CohortSpec(parent="root", weight=rng.choice((1, 2, 4)) * WEIGHT_ONE)
        made.fold(facts.CohortDefined(at_us=0, name=f"part-{index}", spec=spec))
    for index in range(rng.randint(2, 9)):
        limit = rng.choice((None, 0, 2, 8))
        parent = rng.choice(("root", "part-0", "part-1", "part-2"))
        made.queue(f"q{index}", parent, rng.randint(0, 8), limit, rng.choice((1, 2, 4)))
    return made


def act(rng: Random, made: Cluster) -> None:
    """Let something happen."""
    held = [one.key for one in made.draft.workloads.values() if one.phase == "admitted"]
    if held and rng.random() < 0.4:
        made.finish(rng.choice(sorted(held)))
    else:
        queues = sorted(made.draft.objects.cluster_queues)
        made.submit(rng.choice(queues), rng.choice((1, 2, 3, 5, 8)), rng.choice((0, 0, 5)))


def played(seed: int) -> Iterator[Cluster]:
    """Yield a random cluster after each of its turns."""
    rng = Random(seed)
    made = cluster(rng)
    for _ in range(25):
        for _ in range(rng.randint(1, 4)):
            act(rng, made)
        while made.decide(rng.choice((1, 7, 1_000))):
            pass
        yield made


@drawn(60)
@given(SEEDS)
def test_nobody_waits_who_fits_and_nothing_is_given_twice(seed: int) -> None:
    for made in played(seed):
        assert list(unserved(made.draft)) == []
        assert list(excesses(made.journal)) == []
        trees = forest(made.draft).trees
        assert all(calm(made.draft, tree) for tree in trees if tree.root.is_cohort)


@drawn(60)
@given(SEEDS)
def test_a_draft_read_back_decides_as_the_one_that_was_written(seed: int) -> None:
    rng = Random(seed)
    made = cluster(rng)
    for _ in range(15):
        for _ in range(rng.randint(1, 6)):
            act(rng, made)
        again = decode(encode(made.draft))
        assert decide(again) == made.decide()


@pytest.mark.parametrize("weight", [1, 3])
def test_what_is_lent_is_shared_by_weight(weight: int) -> None:
    made = Cluster()
    made.queue("lender", "root", 8, None, 1)
    made.queue("light", "root", 0, None, 1)
    made.queue("heavy", "root", 0, None, weight)
    for _ in range(8):
        made.submit("light", 1)
        made.submit("heavy", 1)
    told = [one for one in made.decide() if isinstance(one, QuotaReserved)]
    shares = [one.cluster_queue for one in told]
    assert (shares.count("light"), shares.count("heavy")) == (
        8 // (weight + 1),
        8 - 8 // (weight + 1),
    )


def test_an_owner_goes_before_a_borrower_of_higher_priority() -> None:
    made = Cluster()
    made.queue("owner", "root", 2, None, 1)
    made.queue("borrower", "root", 0, None, 1)
    made.submit("borrower", 2, priority=9)
    made.submit("owner", 2)
    told = [one.workload for one in made.decide() if isinstance(one, QuotaReserved)]
    assert told == ["ns/w002"]


def test_who_waits_says_why_once() -> None:
    made = Cluster()
    made.queue("small", "root", 1, None, 1)
    made.submit("small", 2)
    made.submit("small", 2)
    held = [one for one in made.decide() if isinstance(one, WorkloadHeld)]
    assert [one.reason for one in held] == ["ExceedsMaxQuota"]
    assert made.decide() == []
