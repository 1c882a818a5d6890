"""A hub with two member clusters, and what each of them says, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from tests.core.queues import of_cpu
from tests.core.telling import JOBS, SECOND, Bus, beat, completed, flavor, started
from tidegate.contracts import observations
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.entry import Message
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.subjects import observed_subject
from tidegate.core.accept import accept
from tidegate.core.decide import decide
from tidegate.model.policy import Policy
from tidegate.model.quota import FlavorSpec, LocalQueueSpec, Preemption, Quota

MEMBERS = ("east", "west")
POLICY = Policy(member_clusters=MEMBERS)


@dataclass
class Stream(Bus):
    """A stream of a member cluster, into the state of its hub."""

    cluster: str = ""
    resource: str = JOBS  # of the jobs that are reported

    def message(self, observation: observations.Observation) -> Message:
        """Store an observation under the resource that the stream's jobs are of."""
        message = super().message(observation)
        if not isinstance(observation, observations.JobObserved):
            return message
        subject = observed_subject(
            self.cluster, self.resource, observation.namespace, observation.name
        )
        return replace(message, subject=subject)

    def tell(self, *actual_observations: observations.Observation) -> list[FactEvent]:
        messages = [self.message(each) for each in actual_observations]
        facts, self.position = accept(self.state, self.position, messages, cluster=self.cluster)
        return facts


@dataclass
class Hub:
    """A hub with two member clusters; quota of four CPUs in each cluster's own flavor."""

    bus: Bus = field(default_factory=lambda: Bus().opened())
    beats: int = 0

    def __post_init__(self) -> None:
        self.members = {
            name: Stream(state=self.bus.state, cluster=name, incarnation=at)
            for at, name in enumerate(MEMBERS, 7)
        }

    def open(
        self,
        policy: Policy = POLICY,
        preemption: Preemption | None = None,
        listed: tuple[observations.JobObserved, ...] = (),
        own: tuple[observations.JobObserved, ...] = (),
        listed_in: Mapping[str, tuple[observations.JobObserved, ...]] | None = None,
    ) -> Hub:
        """Let everything be listed once; all members list these jobs, and the hub its own.

        ``listed_in``: only these members list jobs, each its own.
        """
        quota = Quota(nominal=4_000)
        spec = of_cpu({"own": quota, "east": quota, "west": quota}, preemption=preemption)
        self.bus.tell(
            observations.PolicyObserved(
                name="tidegate", uid="p", version=1, session="a", policy=policy
            ),
            observations.NamespaceObserved(name="team", uid="ns", version=1, session="a"),
            flavor("own"),
            flavor("east", spec=FlavorSpec(clusters=("east",))),
            flavor("west", spec=FlavorSpec(clusters=("west",))),
            observations.ClusterQueueObserved(
                name="cq", uid="cq", version=1, session="a", spec=spec
            ),
            observations.LocalQueueObserved(
                namespace="team",
                name="main",
                uid="lq",
                version=1,
                session="a",
                spec=LocalQueueSpec(cluster_queue="cq"),
            ),
            beat(1, JOBS),
            started(),
            *own,
            completed(5, *(each.uid for each in own)),
        )
        for name, jobs in (listed_in or dict.fromkeys(MEMBERS, listed)).items():
            self.join(name, *jobs)
        return self

    def join(self, name: str, *jobs: observations.JobObserved) -> list[FactEvent]:
        """Let a member cluster begin: a list of its jobs between two heartbeats."""
        uids = [each.uid for each in jobs]
        return self.members[name].tell(
            beat(1, JOBS), started(), *jobs, completed(5, *uids), beat(2, JOBS)
        )

    def pass_time(self, seconds: int, *heard: str) -> list[FactEvent]:
        """Let time pass by heartbeats of the hub and of these members."""
        facts: list[FactEvent] = []
        for _ in range(seconds):
            self.beats += 1
            for stream in (self.bus, *self.members.values()):
                stream.at_us += SECOND
            facts += self.bus.tell(beat(1 + self.beats, JOBS))
            for name in heard:
                facts += self.members[name].tell(beat(2 + self.beats, JOBS))
        return facts

    def decide(self) -> list[DecisionEvent]:
        return decide(self.bus.state)

    def orders(self) -> list[tuple[str, str]]:
        """Return where jobs were ordered to start, by cluster."""
        return [
            (each.job.cluster, each.workload)
            for each in self.decide()
            if isinstance(each, StartOrdered)
        ]
