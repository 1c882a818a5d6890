"""A flat cohort of ClusterQueues drawn from a seed, and a random load on it."""

from __future__ import annotations

from random import Random

from tests.core.queues import defined, of_cpu
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    DecisionEvent,
    StartOrdered,
    StopOrdered,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import DEFAULT_STRATEGIES, Policy, Strategy
from tidegate.model.quota import (
    WEIGHT_ONE,
    FlavorSpec,
    Preemption,
    Quota,
)

STEP_US = 10_000


class Cluster:
    """A cohort of queues drawn from a seed, and everything decided about it."""

    def __init__(self, seed: int, *, fair: bool) -> None:
        self.state, self.decided = State(), list[DecisionEvent]()
        self.rng, self.now_us, self.count = Random(seed), 0, 0
        self.running: dict[str, None] = {}
        self.changes = 0  # submissions and ends
        policy = Policy(
            fair_sharing=self._strategies() if fair else (), repair_after_us=10**15, rules=VERSION
        )
        self.fold(facts.LedgerOpened(at_us=0, ledger_id="cohort"))
        self.fold(facts.WatchesExpected(at_us=0, resources=()))
        self.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
        self.fold(facts.FlavorDefined(at_us=0, name="default", spec=FlavorSpec()))
        self.fold(facts.NamespaceDefined(at_us=0, name="ns"))
        self.queues = [self._queue(number) for number in range(self.rng.randint(2, 8))]

    def fold(self, event: FactEvent) -> None:
        """Fold a fact."""
        apply(self.state, event)

    def step(self) -> None:
        """Let some time pass, in which workloads come and go, and decide."""
        self.now_us += STEP_US * self.rng.choice((1, 1, 1, 7))
        for _ in range(self.rng.choice((0, 1, 1, 2, 5))):
            self._submit()
        for key in self.rng.sample(sorted(self.running), min(len(self.running), 2)):
            if self.rng.random() < 0.4:
                del self.running[key]
                self.changes += 1
                self.fold(facts.WorkloadFinished(at_us=self.now_us, workload=key, uid=key))
        self.fold(facts.TimePassed(at_us=self.now_us))
        self._decide()

    def _decide(self) -> None:
        most = self.rng.choice((5, 1_000))
        while True:
            decisions = decide(self.state, decisions_max=most)
            if not decisions:
                return
            self.decided += decisions
            for decision in decisions:
                self._obey(decision)

    def _obey(self, decision: DecisionEvent) -> None:
        match decision:
            case StartOrdered():
                self.running[decision.workload] = None
            case StopOrdered():
                self.running.pop(decision.workload, None)
                stopped = facts.WorkloadStopped(
                    at_us=self.now_us, workload=decision.workload, uid=decision.workload
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
        preemption = Preemption(
            within_cluster_queue=rng.choice(
                ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
            ),
            reclaim_within_cohort=rng.choice(("Never", "LowerPriority", "Any", "Any")),
            borrow_within_cohort=rng.choice(("Never", "Never", "LowerPriority")),
        )
        weight = rng.choice((0, 1, 1, 1, 3)) * WEIGHT_ONE
        spec = of_cpu({"default": quota}, cohort="cohort", preemption=preemption, weight=weight)
        for event in defined(name, spec, local=name, namespace="ns"):
            self.fold(event)
        return name

    def _submit(self) -> None:
        name, cpu = f"w{self.count:04}", self.rng.choice((1, 1, 2, 3, 5, 30))
        self.count += 1
        self.changes += 1
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
