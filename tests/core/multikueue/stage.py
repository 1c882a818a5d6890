"""One workload and its worker clusters, told in short lines: what the data files are written in."""

from __future__ import annotations

from msgspec.structs import replace

from tests.core.multikueue.sayings import copy_fields, said
from tests.core.queues import defined, of_cpu
from tests.core.telling import BEGIN, LEDGER, SECOND, Bus
from tidegate.contracts import observations
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.fact_kinds.clusters import (
    MultiKueueClusterDefined,
    MultiKueueConfigDefined,
    MultiKueueConfigRemoved,
)
from tidegate.contracts.facts import (
    CheckDefined,
    FactEvent,
    FlavorDefined,
    NamespaceDefined,
    PolicyConfigured,
    TimePassed,
    WatchesExpected,
)
from tidegate.contracts.observed.clusters import (
    RemoteClusterObserved,
    RemoteCopy,
    RemoteWorkloadObserved,
)
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import Workload
from tidegate.jobs.registry import job_kind
from tidegate.model.multikueue import CONTROLLER, CheckParameters, MultiKueuePolicy
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import CheckRule, FlavorSpec, Quota, StopPolicy

CHECK, QUEUE, OTHER = "ac1", "q1", "other"
WORKLOAD, UID = "team/job-train-1", "uid-1"
PODSETS = (PodSet(containers=(Container(requests={"cpu": "1"}),)),)
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
_PLAIN = ("pod-group", "statefulset", LWS)
PAIR = (replace(PODSETS[0], count=2),)


class Stage:
    """One manager, one job, and some worker clusters."""

    def __init__(
        self,
        policy: MultiKueuePolicy,
        clusters: tuple[str, ...],
        *,
        second: bool,
        gates: dict[str, bool] | None = None,
    ) -> None:
        self.bus = Bus().opened()
        self.history = list[FactEvent | DecisionEvent]()
        self.version, self.jobs = 1, list[observations.JobObserved]()
        self.before = self.job = observations.JobObserved(
            namespace="team",
            name="train",
            uid=UID,
            version=1,
            session="s",
            kind="batch/job",
            workload=WORKLOAD,
            queue="main",
            podsets=PODSETS,
            gates=(CONTROLLER,),
        )
        checks = (CheckRule(name=CHECK), *([CheckRule(name=OTHER)] if second else []))
        spec = replace(of_cpu({"spot": Quota(nominal=4_000)}), checks=checks)
        configured = Policy(multikueue=policy, rules=VERSION, gates=gates or {})
        named = CheckParameters(group="kueue.x-k8s.io", kind="MultiKueueConfig", name="all")
        self.fold(
            WatchesExpected(at_us=0, resources=()),
            PolicyConfigured(at_us=0, name="p", policy=configured),
            NamespaceDefined(at_us=0, name="team"),
            FlavorDefined(at_us=0, name="spot", spec=FlavorSpec()),
            CheckDefined(at_us=0, name=CHECK, controller=CONTROLLER, parameters=named),
            CheckDefined(at_us=0, name=OTHER, controller="example.com/budget", active=True),
            MultiKueueConfigDefined(at_us=0, name="all", clusters=clusters),
            *(MultiKueueClusterDefined(at_us=0, name=cluster) for cluster in clusters),
            *defined(QUEUE, spec, local="main", namespace="team"),
            TimePassed(at_us=BEGIN),
        )

    def fold(self, *facts: FactEvent) -> None:
        """Fold facts as they are."""
        for fact in facts:
            apply(self.bus.state, fact)
            self.history.append(fact)

    def _tell(self, observation: observations.Observation) -> None:
        self.history += self.bus.tell(observation)

    def do(self, line: str) -> list[str]:
        """Let one thing happen; return what is decided then, each in a few words."""
        verb, *words = line.split()
        if verb.isdigit():  # of several jobs of an object: which one it is about
            self.job = self.jobs[int(verb)]
            verb, *words = words
        getattr(self, f"_{verb}")(*words)
        decided = decide(self.bus.state)
        self.history += decided
        self.jobs = [self.job if job.uid == self.job.uid else job for job in self.jobs]
        names = [self._told(decision) for decision in decided]
        assert decide(self.bus.state) == [], "it has settled"
        kept = decode(encode(self.bus.state))
        assert decide(kept) == [], "and so has a leader that reads it back"
        return [text for text in names if text]

    def _connect(self, *names: str) -> None:
        self._reach(names, connected=True)

    def _lose(self, *names: str) -> None:
        self._reach(names, connected=False)

    def _restart(self, *names: str) -> None:
        """Another dispatcher reaches the clusters."""
        self._reach((*names, "d2"), connected=True)

    def _reach(self, words: tuple[str, ...], *, connected: bool) -> None:
        """Tell of clusters; a last word such as ``d2`` is the dispatcher's session."""
        last = words[-1]
        session = last if last.startswith("d") else "d1"
        for name in (word for word in words if word.startswith("w")):
            observation = RemoteClusterObserved(cluster=name, session=session, connected=connected)
            self._tell(observation)

    def _submit(self, *how: str) -> None:
        kind = next((text for text in how if "/" in text or text in _PLAIN), "batch/job")
        gates = () if "unmanaged" in how else self.job.gates
        self.job = replace(self.job, kind=kind, gates=gates, elastic="elastic" in how)
        if kind in _PLAIN:
            self.job = replace(self.job, gates=(), podsets=PAIR)
        if kind == LWS:
            self.jobs = [_part_of(self.job, index) for index in range(int(how[-1]))]
            self.job = self.jobs[0]
        for job in self.jobs or [self.job]:
            self._tell(job)

    def _told(self, event: DecisionEvent) -> str:
        """Return a decision in a few words, of several jobs of an object with its index."""
        line = said(event)
        keys = [job.workload for job in self.jobs]
        about = getattr(event, "workload", "")
        if line and about.startswith(f"{WORKLOAD}-"):  # a further slice, behind its number
            return f"{about.removeprefix(WORKLOAD)} {line}"
        return f"{keys.index(about)} {line}" if line and about in keys else line

    @property
    def _known(self) -> Workload:
        return self.bus.state.workloads[self.job.workload]

    def _size(self, pods: str, active: str = "") -> None:
        """Let an elastic job ask for so many pods, with so many running there still."""
        podset, state = replace(PODSETS[0], count=int(pods)), self.job.state
        observation = replace(
            state, generation=self.version + 1, active=int(active or state.active)
        )
        self._see(podsets=(podset,), state=observation)

    def _charged(self, units: str) -> None:
        """Look at how much CPU the job is charged, in base units."""
        charges = [dict(workload.charges) for workload in self.bus.state.workloads.values()]
        assert sum(sum(charge.values()) for charge in charges) == int(units)

    def _copy(self, cluster: str, *how: str) -> None:
        """Tell how a copy stands: words with times in seconds, or ``gone``; ``-3``: a slice's."""
        copy: RemoteCopy | None = None
        key = self.job.workload + next((word for word in how if word.startswith("-")), "")
        how = tuple(word for word in how if not word.startswith("-"))
        if "gone" not in how:
            fields = copy_fields(how)
            copy = RemoteCopy(**fields)  # type: ignore[arg-type]  # by name
        if copy is not None and copy.synced and copy.finished_us and copy.reason != "OutOfSync":
            self.before, self.version = self.job, self.version + 2
            self.job = replace(self.job, version=self.version, finished="Succeeded")
        observation = RemoteWorkloadObserved(
            cluster=cluster,
            workload=key,
            session="d1",
            copy=copy,
            job_version=self.job.version,
        )
        self._tell(observation)

    def _propose(self, *clusters: str) -> None:
        """Let an external dispatcher nominate clusters for the reservation that stands."""
        self._nominate(self._known.checks_seq, clusters)

    def _stale(self, *clusters: str) -> None:
        """Show nominations that stood there before the reservation."""
        self._nominate(self._known.checks_seq - 1, clusters)

    def _nominate(self, since: int, clusters: tuple[str, ...]) -> None:
        self._see(nominated=clusters, checks_since=f"{LEDGER}/{since}")

    def _policy(self, cluster: str, policy: StopPolicy) -> None:
        """Hold or drain a cluster, or open it again."""
        at_us = self.bus.at_us
        self.fold(MultiKueueClusterDefined(at_us=at_us, name=cluster, stop_policy=policy))

    def _is(self, phase: str) -> None:
        """Look at how the workload stands."""
        assert self._known.phase == phase

    def _pass(self, seconds: str) -> None:
        self.bus.at_us += int(seconds) * SECOND
        self.fold(TimePassed(at_us=self.bus.at_us))

    def _config(self, *clusters: str) -> None:
        at_us = self.bus.at_us
        if clusters:
            self.fold(MultiKueueConfigDefined(at_us=at_us, name="all", clusters=clusters))
        else:
            self.fold(MultiKueueConfigRemoved(at_us=at_us, name="all"))

    def _check(self, state: str) -> None:
        """Let the other check's controller speak."""
        known = self._known
        self._see(
            checks=(observations.CheckSeen(name=OTHER, state=state),),
            checks_since=f"{LEDGER}/{known.checks_seq}",
        )

    def _started(self) -> None:
        self._mark(suspended=False, active=1)

    def _gated(self, *how: str) -> None:
        """Show pods that stay gated: one of them is new, or not there, or they are ready there."""
        order = self._known.order
        decision = "" if order is None or "new" in how else f"{LEDGER}/{order.seq}"
        count = 1 if "fewer" in how else PAIR[0].count
        podsets = (replace(PAIR[0], count=count),)
        ready = PAIR[0].count if "ready" in how else 0
        self._see(podsets=podsets, state=observations.JobState(decision=decision, ready=ready))

    def _ready(self, ready: str) -> None:
        assert self._known.ready is (ready == "yes")

    def _stopped(self) -> None:
        """Show the stop on the job; its status stays what a worker last said, if one ran it."""
        sent = self.standing.dispatch
        stays = CONTROLLER in self.job.gates and self.job.state.active
        self._mark(suspended=True, active=int(stays or (sent is not None and sent.ran)))

    def _mark(self, *, suspended: bool, active: int) -> None:
        order = self.standing.order
        decision = "" if order is None else f"{LEDGER}/{order.seq}"
        state = observations.JobState(
            suspended=suspended, active=active, started=active > 0, decision=decision
        )
        self._see(state=replace(state, generation=self.job.state.generation))

    @property
    def standing(self) -> Workload:
        """Return the workload that stands for the job."""
        state = self.bus.state
        return state.workloads[state.by_uid.get(self.job.uid, self.job.workload)]

    def _see(self, **changes: object) -> None:
        self.version += 1
        self.job = replace(self.job, version=self.version, **changes)
        self._tell(self.job)

    def _late(self) -> None:
        """Tell of the job as it was shortly before its end, which was reported already."""
        state = replace(self.before.state, active=0)
        self._tell(replace(self.before, version=self.version - 1, state=state))

    def _deactivate(self) -> None:
        self._see(active=False)

    def _activate(self) -> None:
        self._see(active=True)

    def _delete(self) -> None:
        self.version += 1
        gone = observations.ObjectGone(
            namespace="team",
            name=self.job.name,
            uid=self.job.uid,
            version=self.version,
            session="s",
            resource=job_kind(self.job.kind).resource,
        )
        self._tell(gone)


def _part_of(job: observations.JobObserved, index: int) -> observations.JobObserved:
    name, uid = f"{job.name}-{index}", f"{job.uid}.{index}"
    return replace(job, name=name, uid=uid, workload=f"team/{name}")
