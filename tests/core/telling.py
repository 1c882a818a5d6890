"""What ingest says, in few words: messages of one stream into one state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec.structs import replace

from tests.core.queues import of_cpu
from tidegate.contracts import observations
from tidegate.contracts.codec import encode, type_name
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.facts import FactEvent, LedgerOpened
from tidegate.contracts.subjects import observed_subject
from tidegate.core.accept import accept
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import Container, PodSet
from tidegate.model.quota import FlavorSpec, LocalQueueSpec, Quota

Fields: TypeAlias = dict[str, Any]
"""What an observation says otherwise than usual."""

LEDGER = "ledger-1"
JOBS = "jobs.batch"
FLAVORS = "resourceflavors.kueue.x-k8s.io"
SECOND = 1_000_000
BEGIN = 1_000 * SECOND
PODSETS = (PodSet(containers=(Container(requests={"cpu": "2"}),)),)
RUNNING = observations.JobState(suspended=False, started=True, active=1)


@dataclass
class Bus:
    """A stream of observations and the state that accepts them."""

    state: State = field(default_factory=State)
    position: Position = field(default_factory=Position)
    incarnation: int = 1
    seq: int = 0
    at_us: int = BEGIN

    def opened(self) -> Bus:
        """Open the ledger, expecting nothing."""
        apply(self.state, LedgerOpened(at_us=0, ledger_id=LEDGER))
        return self

    def message(self, observation: observations.Observation) -> Message:
        """Store an observation in the stream."""
        self.seq += 1
        return Message(
            Position(self.incarnation, self.seq),
            self.at_us,
            subject(observation),
            encode(observation),
        )

    def take(self, messages: Iterable[Message]) -> list[FactEvent]:
        """Accept messages; the position moves."""
        facts, self.position = accept(self.state, self.position, messages)
        return facts

    def tell(self, *actual_observations: observations.Observation) -> list[FactEvent]:
        """Store observations and accept them."""
        return self.take([self.message(each) for each in actual_observations])

    def only(self) -> Workload:
        """Return the one workload."""
        [workload] = self.state.workloads.values()
        return workload


def subject(observation: observations.Observation) -> str:
    resource = JOBS if isinstance(observation, observations.JobObserved) else "other"
    name = observation.name if isinstance(observation, observations.Observed) else "_"
    return observed_subject("local", resource, "team", name)


def types(facts: Sequence[FactEvent | DecisionEvent]) -> list[str]:
    return [type_name(fact) for fact in facts]


def job(name: str = "train", **obj: object) -> observations.JobObserved:
    uid = str(obj.get("uid", f"uid-{name}"))
    asked = observations.JobObserved(
        namespace="team",
        name=name,
        uid=uid,
        version=10,
        session="a",
        kind="batch/job",
        workload=f"team/job-{uid}",
        queue="main",
        podsets=PODSETS,
    )
    return replace(asked, **obj)


def gone(
    name: str = "train", version: int = 20, resource: str = JOBS, **obj: str
) -> observations.ObjectGone:
    namespace = "team" if resource == JOBS else ""
    uid = obj.get("uid", f"uid-{name}")
    return observations.ObjectGone(
        namespace=namespace, name=name, uid=uid, version=version, session="a", resource=resource
    )


def flavor(name: str = "default", **obj: object) -> observations.FlavorObserved:
    made = observations.FlavorObserved(
        name=name, uid=f"uid-{name}", version=10, session="a", spec=FlavorSpec()
    )
    return replace(made, **obj)


def queues(version: int = 1) -> list[observations.Observation]:
    """Return a ClusterQueue of four CPUs in two flavors, and its LocalQueue."""
    spec = of_cpu({"big": Quota(nominal=2_000), "small": Quota(nominal=2_000)})
    local = LocalQueueSpec(cluster_queue="cq")
    return [
        flavor("big", version=version, spec=FlavorSpec(node_labels={"size": "big"})),
        flavor("small", version=version, spec=FlavorSpec(node_labels={"size": "small"})),
        observations.ClusterQueueObserved(
            name="cq", uid="cq", version=version, session="a", spec=spec
        ),
        observations.LocalQueueObserved(
            namespace="team", name="main", uid="lq", version=version, session="a", spec=local
        ),
    ]


def started(resource: str = JOBS, number: int = 1, session: str = "a") -> observations.SyncStarted:
    return observations.SyncStarted(resource=resource, session=session, round=number)


def completed(
    version: int, *present: str, resource: str = JOBS, number: int = 1, session: str = "a"
) -> observations.SyncCompleted:
    return observations.SyncCompleted(
        resource=resource, session=session, round=number, list_version=version, present=present
    )


def beat(number: int, *resources: str, session: str = "a") -> observations.Heartbeat:
    return observations.Heartbeat(session=session, beat=number, resources=resources)
