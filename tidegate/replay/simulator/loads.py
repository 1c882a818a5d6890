"""Builds a scenario from a load: jobs that were generated, or that come from another system."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from tidegate.contracts.facts import (
    FactEvent,
    LedgerOpened,
    LocalQueueDefined,
    NamespaceDefined,
    PolicyConfigured,
    WatchesExpected,
    WorkloadSubmitted,
)
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import write
from tidegate.core.quota.readiness import readiness
from tidegate.core.state.state import State
from tidegate.errors import SettingsError, existing
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy
from tidegate.replay.simulator.changes import Defined
from tidegate.replay.simulator.scenario import Run, Scenario, identity

KIND = "batch/job"
NAME_LABEL = "kubernetes.io/metadata.name"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a load."""

    name: str
    queue: str  # LocalQueue
    namespace: str = "default"
    at_us: int  # when it is submitted
    run_us: int | None  # None: it never ends
    count: int = 1
    min_count: int | None = None
    requests: dict[str, str] = {}  # of one pod
    priority_class: str = ""
    priority: int | None = None
    author: str = ""


def scenario_of_load(
    objects: Iterable[Defined], policy: Policy, jobs: Iterable[Job], from_us: int
) -> Scenario:
    """Return a scenario of a cluster that has these objects from the beginning, and these jobs.

    Creates the Namespaces of LocalQueues that are not among the objects.

    Raises:
        SettingsError: a ClusterQueue is not active, a job names a LocalQueue that does not exist,
            or it begins before 1970; the message says what is missing.
    """
    if from_us < 0:
        raise SettingsError("A simulation begins in 1970 or later: see --begin, and the jobs' at.")
    defined = [replace(definition, at_us=from_us) for definition in objects]
    _refuse_inactive(defined)
    ordered = sorted(jobs, key=_submission_time)
    _refuse_unknown(ordered, defined)
    facts: list[FactEvent] = [
        LedgerOpened(at_us=from_us, ledger_id="simulation"),
        PolicyConfigured(at_us=from_us, name="policy", policy=policy),
        WatchesExpected(at_us=from_us, resources=()),
        *_namespaces(defined, from_us),
        *defined,
    ]
    runs = dict[str, Run]()
    for number, job in enumerate(ordered):
        fact = _submission(job, number)
        facts.append(fact)
        runs[identity(fact.workload, fact.uid)] = Run(run_us=job.run_us)
    return Scenario(
        start=write(State()), from_us=from_us, to_us=None, facts=tuple(facts), runs=runs
    )


def _submission_time(job: Job) -> int:
    return job.at_us


def _submission(job: Job, number: int) -> WorkloadSubmitted:
    uid = f"job-{number:08}"  # among jobs of one time, the order of the file counts
    podset = PodSet(
        count=job.count,
        min_count=job.min_count,
        containers=(Container(requests=job.requests),),
    )
    return WorkloadSubmitted(
        at_us=job.at_us,
        workload=f"{job.namespace}/{job.name}",
        uid=uid,
        job=ObjectRef(kind=KIND, namespace=job.namespace, name=job.name, uid=uid),
        queue=job.queue,
        priority_class=job.priority_class,
        priority=job.priority,
        created_us=job.at_us,
        podsets=(podset,),
        author=job.author,
    )


def _namespaces(defined: list[Defined], at_us: int) -> list[NamespaceDefined]:
    namespaces = {
        definition.name for definition in defined if isinstance(definition, NamespaceDefined)
    }
    named = dict.fromkeys(
        definition.namespace for definition in defined if isinstance(definition, LocalQueueDefined)
    )
    return [
        NamespaceDefined(at_us=at_us, name=name, uid=name, labels={NAME_LABEL: name})
        for name in named
        if name not in namespaces
    ]


def _refuse_inactive(defined: list[Defined]) -> None:
    state = State()
    for definition in defined:
        apply(state, definition)
    if not state.objects.cluster_queues:
        raise SettingsError("The manifests hold no ClusterQueue: there is nothing to admit to.")
    for name in sorted(state.objects.cluster_queues):
        status = readiness(state, name)
        if not status.active:
            raise SettingsError(f"ClusterQueue {name} would admit no workloads: {status.message}")


def _refuse_unknown(jobs: list[Job], defined: list[Defined]) -> None:
    queues = {
        f"{definition.namespace}/{definition.name}"
        for definition in defined
        if isinstance(definition, LocalQueueDefined)
    }
    names = set[str]()
    for job in jobs:
        queue, key = f"{job.namespace}/{job.queue}", f"{job.namespace}/{job.name}"
        if queue not in queues:
            listed = ", ".join(sorted(queues))
            raise SettingsError(
                f"Job {key} names LocalQueue {queue}, which the manifests do not hold. "
                f"{existing(listed)}"
            )
        if key in names:
            raise SettingsError(f"There are two jobs {key}: give each its own name.")
        names.add(key)
