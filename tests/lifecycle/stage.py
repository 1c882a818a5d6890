"""A small cluster that a rule's story is played on: lines in, decisions and what is shown out.

Jobs carry out their orders at once unless they are deaf. Everything goes the way it goes in a
cluster: observations are accepted, decided upon, and the board shows what follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from actuator.projection.k8s_events import event_texts
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import WorkloadView
from tests.core.telling import BEGIN, JOBS, LEDGER, SECOND, Bus, beat, completed, flavor, gone, job
from tests.core.telling import started as begun
from tests.lifecycle.words import decision_line
from tests.parts.phases import Phases
from tidegate.contracts.decisions import DecisionEvent, StartOrdered, StopOrdered
from tidegate.contracts.facts import FactEvent, LedgerOpened
from tidegate.contracts.observations import (
    CheckSeen,
    ClusterQueueObserved,
    JobObserved,
    JobState,
    LocalQueueObserved,
    NamespaceObserved,
    Observation,
    PolicyObserved,
)
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.kinds.meta import Condition
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quantity import amount
from tidegate.model.quota import ClusterQueueSpec, FlavorQuotas, FlavorSpec, LocalQueueSpec, Quota
from tidegate.model.quota import ResourceGroup as Group

Fields = dict[str, Any]
TEAM = "team"

OF_EVERY_JOB = {"CreatedWorkload"}
"""Events that every job has: ``tests/actuator/test_looked_at.py`` looks at them, no rule does."""


@dataclass
class Stage:
    """One ledger, its board, and the jobs it is about."""

    bus: Bus = field(default_factory=Bus)
    read_model: ReadModel = field(default_factory=ReadModel)
    jobs: dict[str, JobObserved] = field(default_factory=dict)
    orders: dict[str, tuple[bool, int]] = field(default_factory=dict)  # start or stop, and its seq
    former: dict[str, str] = field(default_factory=dict)  # what their Workloads noted before
    unshown: set[str] = field(default_factory=set)  # jobs whose Workloads are not written
    deaf: set[str] = field(default_factory=set)
    version: int = 100
    beats: int = 1
    decided: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    phases: Phases = field(default_factory=Phases)
    starts: dict[str, StartOrdered] = field(default_factory=dict)
    buried: dict[str, int] = field(default_factory=dict)  # queue to how often it was deleted

    def open(self, policy: Policy) -> None:
        """Open the ledger over completed first rounds."""
        opened = LedgerOpened(at_us=BEGIN, ledger_id=LEDGER)
        apply(self.bus.state, opened)
        self.read_model.apply_event(opened, f"{LEDGER}/1")
        configured = PolicyObserved(name="p", uid="p", version=1, session="s", policy=policy)
        namespace = NamespaceObserved(name=TEAM, uid=TEAM, version=1, session="a")
        self.turn(configured, namespace, beat(1, JOBS), begun(), completed(50))

    def turn(self, *observations: Observation) -> None:
        """Play turns until nothing more follows; jobs obey in between."""
        self._take(observations)
        while news := [*self._obeyed(), *self._asked()]:
            self._take(news)

    def _obeyed(self) -> list[JobObserved]:
        orders = [name for name in self.orders if name not in self.deaf]
        return [self.obeyed(name) for name in orders if name in self.jobs]

    def _asked(self) -> list[JobObserved]:
        """Return the jobs whose Workloads show by now that checks begin anew."""
        news = list[JobObserved]()
        for name, observation in list(self.jobs.items()):
            shown = self.answering(observation.workload)
            if (
                shown is None
                or shown.checks_since == observation.checks_since
                or name in self.unshown
            ):
                continue
            self.former[name] = observation.checks_since
            pending = tuple(CheckSeen(name=check, state="Pending") for check in shown.checks)
            news.append(self.change(name, checks=pending, checks_since=shown.checks_since))
        return news

    def _take(self, observations: Any) -> None:  # noqa: ANN401 - some observations
        before = self.bus.state.seq
        facts = self.bus.tell(*observations)
        decisions = decide(self.bus.state)
        for number, event in enumerate([*facts, *decisions], before + 1):
            self._learn(event, number)
        assert self.phases.differing(self.bus.state) == {}
        for decision in decisions:
            self.decided.append(decision_line(decision))
        if decisions:
            self._take(())

    def _learn(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        if isinstance(event, StartOrdered | StopOrdered):
            self.orders[event.job.name] = isinstance(event, StartOrdered), seq
        if isinstance(event, StartOrdered):
            self.starts[event.job.name] = event
        before = {
            key: dict(workload_view.conditions)
            for key, workload_view in self.read_model.workloads.items()
        }
        self.read_model.apply_event(event, f"{LEDGER}/{seq}")
        self.phases.learn(event)
        for key, workload_view in self.read_model.workloads.items():
            self.shown += changed(key, before.get(key, {}), workload_view.conditions)
        self.told += [
            f"{name_of(text.workload or getattr(event, 'workload', ''))}"
            f"{' job' if text.about_job else ''} {text.kind} {text.reason}"
            for text in event_texts(event)
            if text.reason not in OF_EVERY_JOB
        ]

    def obeyed(self, name: str) -> JobObserved:
        """Return a job that has carried out what was ordered last."""
        start, seq = self.orders.pop(name)
        known = self.jobs[name]
        state = JobState(
            suspended=not start,
            started=start,
            active=pods_of(known) if start else 0,
            decision=f"{LEDGER}/{seq}",
            generation=known.state.generation + 1,
        )
        return self.change(name, state=state)

    def submit(self, name: str, fields: Fields) -> JobObserved:
        """Return a new job, suspended, as its fields say."""
        self.version += 1
        podset = PodSet(
            count=int(fields.pop("pods", 1)),
            containers=(Container(requests={"cpu": str(fields.pop("cpu", 1))}),),
        )
        direct = fields.pop("direct", False)
        identity: Fields = {"kind": "workload"} if direct else {}
        fields.setdefault("queue", "main")
        fields.setdefault("workload", f"{TEAM}/{name}")
        self.jobs[name] = job(
            name,
            version=self.version,
            created_us=self.bus.at_us + self.version,  # in the order of their coming
            podsets=(podset,),
            **identity,
            **fields,
        )
        return self.jobs[name]

    def change(self, name: str, **value: Any) -> JobObserved:  # noqa: ANN401 - a job's fields
        """Return a job of which something changed."""
        self.version += 1
        self.jobs[name] = replace(self.jobs[name], version=self.version, **value)
        return self.jobs[name]

    def activate(self, name: str) -> JobObserved:
        """Return a job that is active, beside the decision for which it was not."""
        by = self.read_model.workloads[self.jobs[name].workload].deactivated_by
        return self.change(name, active=True, deactivated=by)

    def stand(self, name: str, **obj: int) -> JobObserved:
        """Return a job whose pods stand otherwise."""
        return self.change(name, state=replace(self.jobs[name].state, **obj))

    def grow(self, name: str, pods: int) -> JobObserved:
        """Return a job of more pods, or fewer; those that it had are still there."""
        known = self.jobs[name]
        podsets = (replace(known.podsets[0], count=pods),)
        state = replace(known.state, generation=known.state.generation + 1)
        return self.change(name, podsets=podsets, state=state)

    def delete(self, name: str) -> Observation:
        """Return that a job is gone."""
        self.version += 1
        del self.jobs[name]
        return gone(name, self.version)

    def wait(self, seconds: int) -> Observation:
        """Let time pass, by a heartbeat."""
        self.beats += seconds
        self.bus.at_us += seconds * SECOND
        return beat(self.beats, JOBS)

    def cluster_queue(self, name: str, fields: Fields) -> Observation:
        """Return a ClusterQueue; ``cpu`` is by flavor, or that of the flavor ``any``."""
        self.version += 1
        quotas = fields.pop("cpu", 4)
        flavors = quotas if isinstance(quotas, dict) else {"any": quotas}
        group = Group(
            resources=("cpu",),
            flavors=tuple(
                FlavorQuotas(flavor=value, quotas={"cpu": Quota(nominal=amount("cpu", str(cpu)))})
                for value, cpu in flavors.items()
            ),
        )
        made = convert({"groups": (), **fields}, ClusterQueueSpec)
        spec = replace(made, groups=(group,), namespace_selector=LabelSelector())
        return ClusterQueueObserved(
            name=name, uid=self.uid("cq", name), version=self.version, session="a", spec=spec
        )

    def local_queue(self, name: str, fields: Fields) -> Observation:
        """Return a LocalQueue."""
        self.version += 1
        spec = convert(fields, LocalQueueSpec)
        return LocalQueueObserved(
            namespace=TEAM,
            name=name,
            uid=self.uid("lq", name),
            version=self.version,
            session="a",
            spec=spec,
        )

    def uid(self, prefix: str, name: str) -> str:
        """Return a queue's uid: one that is made again has another."""
        return f"{prefix}-{name}-{self.buried.get(prefix + name, 0)}"

    def flavor(self, name: str, fields: Fields) -> Observation:
        """Return a ResourceFlavor."""
        self.version += 1
        return flavor(name, version=self.version, spec=convert(fields, FlavorSpec))

    def since(self, name: str) -> str:
        """Return the reset that a job's checks follow, as its Workload notes it by now."""
        shown = self.answering(self.jobs[name].workload)
        assert shown is not None
        return shown.checks_since

    def answering(self, key: str) -> WorkloadView | None:
        """Return the Workload on which a job's checks are answered: of a parent a variant."""
        holding = ("reserved", "admitted")
        variants = (
            workload for workload in self.read_model.workloads.values() if workload.parent == key
        )
        workload_views = (variant for variant in variants if variant.phase in holding)
        return next(workload_views, self.read_model.workloads.get(key))


def pods_of(observation: JobObserved) -> int:
    return sum(podset.count for podset in observation.podsets)


def name_of(key: str) -> str:
    return key.partition("/")[2]


def changed(key: str, before: dict[str, Condition], now: dict[str, Condition]) -> list[str]:
    """Return the conditions that are new or say something else."""
    return [
        f"{name_of(key)} {kind}={condition.status} {condition.reason}"
        for kind, condition in now.items()
        if kind not in before
        or (before[kind].status, before[kind].reason) != (condition.status, condition.reason)
    ]
