"""A history that touches each of Kueue's figures, folded as a scheduler folds it."""

from __future__ import annotations

from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest

from scheduler.health import Status
from scheduler.metrics.exposed import ALL
from scheduler.metrics.gauges import BuildInfo, Gauges
from tidegate.contracts import decisions, facts
from tidegate.contracts.facts import Event
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet, PodSetAssignment
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics

S = 1_000_000
START_US = 1_772_352_000 * S
Kind = TypeVar("Kind", bound=Event)
Told = facts.FactEvent | decisions.DecisionEvent


def at(seconds: float) -> int:
    """Return a time of the story, UTC microseconds."""
    return START_US + round(seconds * S)


def queues() -> list[Told]:
    """Return two ClusterQueues in a cohort within a cohort, each with a LocalQueue."""
    quota = {"cpu": Quota(nominal=4_000, borrowing_limit=2_000)}
    flavors = (FlavorQuotas(flavor="any", quotas=quota),)
    group = ResourceGroup(resources=("cpu",), flavors=flavors)
    spec = ClusterQueueSpec(cohort="unit", groups=(group,), namespace_selector=LabelSelector())
    events: list[Told] = [
        facts.FlavorDefined(at_us=at(0), name="any", spec=FlavorSpec()),
        facts.WorkloadPriorityClassDefined(at_us=at(0), name="high", value=1),
        facts.CohortDefined(at_us=at(0), name="unit", spec=CohortSpec(parent="all")),
        facts.CohortDefined(at_us=at(0), name="all", spec=CohortSpec()),
    ]
    for name in ("left", "right"):
        local = LocalQueueSpec(cluster_queue=name)
        events += [
            facts.NamespaceDefined(at_us=at(0), name=name),
            facts.ClusterQueueDefined(at_us=at(0), name=name, spec=spec),
            facts.LocalQueueDefined(at_us=at(0), name="main", namespace=name, spec=local),
            decisions.ClusterQueueReadinessChanged(
                at_us=at(0), cluster_queue=name, active=True, reason="Ready"
            ),
        ]
    return events


def configured(*, fair: bool) -> facts.PolicyConfigured:
    """Return a configuration with or without fair sharing."""
    policy = Policy(fair_sharing=("LessThanOrEqualToFinalShare",) if fair else ())
    return facts.PolicyConfigured(at_us=at(0), name="tidegate", policy=policy)


def submitted(workload: str, when: float, cpu: str = "1") -> facts.WorkloadSubmitted:
    """Return that a job of two pods was submitted."""
    namespace, _, name = workload.partition("/")
    uid = f"uid-{name}"
    container = Container(requests={"cpu": cpu})
    return facts.WorkloadSubmitted(
        at_us=at(when),
        workload=workload,
        uid=uid,
        job=ObjectRef(kind="batch/job", namespace=namespace, name=name, uid=uid),
        queue="main",
        priority_class="high",
        created_us=at(when),
        podsets=(PodSet(count=2, containers=(container,)),),
    )


def reserved(workload: str, when: float, *checks: str) -> decisions.QuotaReserved:
    """Return that it holds quota for two pods of one core."""
    namespace, _, name = workload.partition("/")
    given = PodSetAssignment(name="main", count=2, flavors={"cpu": "any"}, usage={"cpu": 2_000})
    return decisions.QuotaReserved(
        at_us=at(when),
        workload=workload,
        uid=f"uid-{name}",
        cluster_queue=namespace,
        assignment=(given,),
        checks=checks,
    )


def about(kind: type[Kind], workload: str, when: float, **fields: Any) -> Kind:  # noqa: ANN401 - each kind has its own
    """Return an event about a workload of the story."""
    namespace, _, name = workload.partition("/")
    row: dict[str, Any] = {"at_us": at(when), "workload": workload, "uid": f"uid-{name}"}
    if issubclass(kind, decisions.WorkloadDecision):
        row["cluster_queue"] = namespace
    return kind(**row, **fields)


class World:
    """A state, and a registry that is told what happens to it."""

    def __init__(self, local_queues: LocalQueueMetrics = ALL, *, resources: bool = True) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as a service does
        self.registry, self.state = CollectorRegistry(), State()
        self.status = Status(self.registry, local_queues)
        self.registry.register(Gauges(lambda: self.state, local_queues, resources=resources))
        self.registry.register(BuildInfo("0"))
        self.events = list[Told]()

    def happen(self, *events: Told) -> None:
        """Fold events and have them counted, as one turn does."""
        for event in events:
            apply(self.state, event)
        self.status.meter.count_events(events, self.state)
        self.events += events

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return one series; None if there is none."""
        with_role = {**labels, "replica_role": "leader"}
        return self.registry.get_sample_value(f"kueue_{name}", with_role)

    def page(self) -> str:
        """Return what Prometheus reads."""
        return generate_latest(self.registry).decode()

    def gauges(self) -> list[str]:
        """Return every series of what the state alone gives."""
        names = {line.split()[2] for line in self.page().splitlines() if line.endswith(" gauge")}
        return [
            line
            for line in self.page().splitlines()
            if line.partition("{")[0] in names and line.startswith("kueue_")
        ]
