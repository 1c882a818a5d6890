"""Histories of any length for measuring the ledger: what a busy month leaves behind.

Not decided by the core: it would take longer to decide a month than to store it, and the store
reads only what events say.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import takewhile
from random import Random
from typing import Any, TypeAlias

from tidegate.contracts import decisions, facts
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry
from tidegate.contracts.observations import JobState
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet, PodSetAssignment
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

Event: TypeAlias = facts.FactEvent | decisions.DecisionEvent
START_US = 1_772_348_400_000_000
SECOND_US, DAY_US = 1_000_000, 86_400_000_000
QUEUES, DAYS, SEED = 100, 30, 1


def history(
    workloads: int, turn: int, queues: int = QUEUES, standing: int = 0
) -> Iterator[list[Entry]]:
    """Yield turns of so many sealed entries: 30 days, a tenth of the workloads preempted once.

    All finish but ``standing`` more, which come last: a fifth of them runs, the others are pending.
    """
    head, epoch = GENESIS, 1
    waiting = list[Event]()
    for event in _events(workloads, queues, standing):
        waiting.append(event)
        if len(waiting) == turn:
            entries = seal(head, epoch, "local", waiting)
            yield entries
            head, waiting = entries[-1], []
    if waiting:
        yield seal(head, epoch, "local", waiting)


def _events(workloads: int, queues: int, standing: int) -> Iterator[Event]:
    random = Random(SEED)
    yield from _queue_facts(queues)
    gap_us = DAYS * DAY_US // workloads
    lives = (_finished_workload(random, n, queues, START_US + n * gap_us) for n in range(workloads))
    yield from _merge_by_time(lives)
    begun_us = START_US + (DAYS + 1) * DAY_US
    for n in range(standing):
        yield from _standing_workload(
            workloads + n, n % queues, begun_us + n * SECOND_US // 10, n % 5 == 0
        )


def _merge_by_time(lives: Iterator[list[Event]]) -> Iterator[Event]:
    """Merge lives whose beginnings are in order, holding only those that overlap.

    It ends with the last one's beginning: of the others some run then, and some wait.
    """
    waiting, begun = list[Event](), 0
    for life in lives:
        begun = life[0].at_us
        if len(waiting) > 50_000:  # noqa: PLR2004 - merge now and then, not for each life
            waiting.sort(key=lambda event: event.at_us)
            done = next((n for n, event in enumerate(waiting) if event.at_us >= begun), 0)
            yield from waiting[:done]
            waiting = waiting[done:]
        waiting += life
    events = merge(sorted(waiting, key=lambda event: event.at_us), key=lambda event: event.at_us)
    yield from takewhile(lambda event: event.at_us <= begun, events)


def _queue_facts(queues: int) -> Iterator[Event]:
    """Yield what a scheduler records first, so that ``what-if`` may decide from here on."""
    at_us, cluster = START_US, "local"
    yield facts.LedgerOpened(at_us=at_us, ledger_id="5a3e", cluster=cluster, software="bench")
    yield facts.PolicyConfigured(at_us=at_us, name="tidegate", policy=Policy())
    yield facts.FlavorDefined(at_us=at_us, name="default", spec=FlavorSpec())
    yield facts.WatchesExpected(at_us=at_us, resources=("jobs",))
    listed: dict[str, Any] = {"at_us": at_us, "resource": "jobs", "session": "s", "round": 1}
    yield facts.RoundStarted(**listed)
    yield facts.RoundCompleted(**listed, list_version=1)
    for number in range(queues):
        yield facts.NamespaceDefined(at_us=at_us, name=f"team-{number}")
        quotas = {"cpu": Quota(nominal=64_000), "memory": Quota(nominal=256 << 30)}
        flavor = FlavorQuotas(flavor="default", quotas=quotas)
        group = ResourceGroup(resources=("cpu", "memory"), flavors=(flavor,))
        spec = ClusterQueueSpec(
            cohort=f"cohort-{number % max(1, queues // 10)}",
            groups=(group,),
            namespace_selector=LabelSelector(),
        )
        yield facts.ClusterQueueDefined(at_us=START_US, name=f"queue-{number}", spec=spec)
        local = LocalQueueSpec(cluster_queue=f"queue-{number}")
        yield facts.LocalQueueDefined(
            at_us=START_US, name="main", namespace=f"team-{number}", spec=local
        )


def _standing_workload(number: int, queue: int, at_us: int, runs: bool) -> list[Event]:  # noqa: FBT001 - of two sorts
    life = _WorkloadHistory(f"team-{queue}/job-train-{number}-5f2c9", f"queue-{queue}", number)
    life.submit(at_us, author=f"user-{number % 300}")
    if runs:
        life.start(at_us)
    else:
        life.pend(at_us)
    return life.events


def _finished_workload(random: Random, number: int, queues: int, at_us: int) -> list[Event]:
    queue = random.randrange(queues)
    life = _WorkloadHistory(f"team-{queue}/job-train-{number}-5f2c9", f"queue-{queue}", number)
    waited, ran = random.randrange(1, 600), random.randrange(60, 7_200)
    life.submit(at_us, author=f"user-{random.randrange(300)}")
    if random.random() < 0.4:  # noqa: PLR2004 - the share that waits with a reason
        life.pend(at_us + SECOND_US)
    life.start(at_us + waited * SECOND_US)
    if random.random() < 0.1:  # noqa: PLR2004 - the share that is preempted
        at_us += ran * SECOND_US // 2
        life.preempt(at_us + waited * SECOND_US)
        life.start(at_us + 2 * waited * SECOND_US)
        waited *= 2
    life.finish(at_us + (waited + ran) * SECOND_US)
    return life.events


class _WorkloadHistory:
    """One workload's events, as they would be recorded."""

    def __init__(self, workload: str, cluster_queue: str, number: int) -> None:
        self.events = list[Event]()
        self._identity: dict[str, Any] = {
            "workload": workload,
            "uid": f"{number:08x}-aaaa-bbbb-cccc-0123456789ab",
        }
        self._queue, self._number = cluster_queue, number
        namespace, _, name = workload.partition("/")
        self._job = ObjectRef(kind="batch/job", namespace=namespace, name=name, uid="u")

    def submit(self, at_us: int, author: str) -> None:
        """Submit it."""
        requests = {"cpu": "500m", "memory": "2Gi"}
        podset = PodSet(count=4, containers=(Container(requests=requests, limits=requests),))
        self.events.append(
            facts.WorkloadSubmitted(
                at_us=at_us,
                job=self._job,
                queue="main",
                created_us=at_us,
                podsets=(podset,),
                author=author,
                **self._identity,
            )
        )

    def pend(self, at_us: int) -> None:
        """Let it wait."""
        tried = decisions.FlavorTried(
            podset="main",
            flavor="default",
            resource="cpu",
            requested=2_000,
            unused=500,
            maximum=64_000,
        )
        self._decide(decisions.WorkloadPending, at_us, reason="WaitingForQuota", tried=(tried,))

    def start(self, at_us: int) -> None:
        """Admit and start it."""
        assignment = PodSetAssignment(
            name="main",
            count=4,
            flavors={"cpu": "default", "memory": "default"},
            usage={"cpu": 2_000, "memory": 8 << 30},
        )
        self._decide(decisions.QuotaReserved, at_us, assignment=(assignment,))
        self._decide(decisions.WorkloadAdmitted, at_us, queue="main")
        start = decisions.PodSetStart(name="main", count=4, node_selector={"pool": "default"})
        self._decide(decisions.StartOrdered, at_us, job=self._job, podsets=(start,))
        for after_s, ready in ((1, 0), (9, 4)):
            state = JobState(
                suspended=False, started=True, active=4, ready=ready, decision="ledger/1"
            )
            self.events.append(
                facts.JobStateReported(
                    at_us=at_us + after_s * SECOND_US, state=state, **self._identity
                )
            )

    def preempt(self, at_us: int) -> None:
        """Make it leave for another, and wait again."""
        by = f"team-1/job-other-{self._number}"
        victim = decisions.Victim(workload=self._identity["workload"], reason="InClusterQueue")
        self.events.append(
            decisions.PreemptionIntended(at_us=at_us, workload=by, victims=(victim,))
        )
        self._decide(decisions.WorkloadPreempted, at_us, by=by, reason="InClusterQueue")
        self._decide(decisions.WorkloadEvicted, at_us, reason="Preempted")
        self._decide(decisions.StopOrdered, at_us, job=self._job)
        at_us += 5 * SECOND_US
        self.events.append(facts.WorkloadStopped(at_us=at_us, **self._identity))
        self._decide(decisions.QuotaReleased, at_us)
        self._decide(decisions.WorkloadRequeued, at_us, reason="Preempted")

    def finish(self, at_us: int) -> None:
        """Let it succeed and be removed."""
        state = JobState(suspended=False, started=True, succeeded=4, decision="ledger/1")
        self.events.append(facts.JobStateReported(at_us=at_us, state=state, **self._identity))
        self.events.append(facts.WorkloadFinished(at_us=at_us, **self._identity))
        self.events.append(facts.WorkloadRemoved(at_us=at_us + 60 * SECOND_US, **self._identity))

    def _decide(self, kind: type[Event], at_us: int, **fields: object) -> None:
        every: dict[str, Any] = {"cluster_queue": self._queue, **self._identity, **fields}
        self.events.append(kind(at_us=at_us, **every))
