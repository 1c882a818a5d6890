"""Multi-step scenarios on disk, and their objects as facts.

Times are seconds after T0; a workload's uid is its name and all live in the namespace ``ns``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.conformance import specs
from tests.conformance.cases import Json
from tests.conformance.pods import node_term, tolerations, topology
from tests.conformance.stage import NEVER_US, opening
from tests.conformance.topologies import amounts
from tidegate.contracts import facts
from tidegate.contracts.decisions import LocalQueueUsageSampled, SampledUsage
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import VERSION
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet
from tidegate.model.policy import AdmissionFairSharing, Policy
from tidegate.model.quota import ClusterQueueSpec
from tidegate.model.topology import NodeSpec

DATA = Path(__file__).parent / "data"
"""The copies that run when no other folder is named."""

MORE = Path(__file__).parent / "more"
"""Scenarios of the same classes and other seeds."""

NAMESPACE = "ns"
T0_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Scenario:
    """Objects, and steps of actions with what Kueue made of them."""

    id: str  # e.g. "mixed/003"
    config: Json
    input: Json
    steps: list[Json]
    loops: bool = False  # Kueue never finishes its last step

    @property
    def fair(self) -> bool:
        """Tell whether fair sharing is on."""
        return "fairSharing" in self.config


def read(path: Path, name: str) -> Scenario:
    """Read one file."""
    document: Json = msgspec.json.decode(path.read_bytes())
    return Scenario(
        id=f"{name}/{path.stem}",
        config=document.get("config", {}),
        input=document["input"],
        steps=document["steps"],
        loops="expected" not in document["steps"][-1],
    )


def classes(folder: Path) -> Iterator[tuple[str, list[Scenario]]]:
    """Yield the classes below a folder by name; a folder of JSON files is a class itself."""
    folders = sorted({path.parent for path in folder.rglob("*.json")} - {folder})
    for at in folders or [folder]:
        yield at.name, [read(path, at.name) for path in sorted(at.glob("*.json"))]


def beginning(scenario: Scenario, mode: str) -> list[FactEvent]:
    """Return the facts before step 0: the configuration and all objects but workloads."""
    given = scenario.input
    events = opening(_policy(scenario, mode))
    for name, labels in {NAMESPACE: {}, **given.get("namespaces", {})}.items():
        events.append(facts.NamespaceDefined(at_us=T0_US, name=name, labels=labels))
    for obj in given.get("priorityClasses", ()):
        events.append(facts.PriorityClassDefined(at_us=T0_US, **obj))
    for name in given.get("checks", ()):
        events.append(facts.CheckDefined(at_us=T0_US, name=name, controller="", active=True))
    for obj in given.get("topologies", ()):
        levels = tuple(obj["levels"])
        events.append(facts.TopologyDefined(at_us=T0_US, name=obj["name"], levels=levels))
    for obj in given.get("nodes", ()):
        node = NodeSpec(labels=obj["labels"], allocatable=amounts(obj["allocatable"]), ready=True)
        events.append(facts.NodeDefined(at_us=T0_US, name=obj["name"], spec=node))
    for obj in given["resourceFlavors"]:
        spec = specs.flavor(obj["spec"])
        events.append(facts.FlavorDefined(at_us=T0_US, name=obj["name"], spec=spec))
    events += [
        cohort_defined(cohort["name"], cohort["spec"], T0_US) for cohort in given.get("cohorts", ())
    ]
    for obj in given["clusterQueues"]:
        events.append(queue_defined(scenario, obj["name"], obj["spec"], T0_US))
    return events + [local_queue_defined(obj, T0_US) for obj in given["localQueues"]]


def consumed(scenario: Scenario) -> list[LocalQueueUsageSampled]:
    """Return what LocalQueues had consumed before step 0, where a scenario says so."""
    sharing = {
        queue["clusterQueue"]: 0 for queue in scenario.input["localQueues"] if "consumed" in queue
    }
    return [
        LocalQueueUsageSampled(
            at_us=T0_US,
            cluster_queue=name,
            usage=tuple(
                SampledUsage(namespace=NAMESPACE, name=queue["name"], consumed=queue["consumed"])
                for queue in scenario.input["localQueues"]
                if queue["clusterQueue"] == name and "consumed" in queue
            ),
        )
        for name in sharing
    ]


def queue_defined(
    scenario: Scenario, name: str, spec: Json, at_us: int
) -> facts.ClusterQueueDefined:
    """Return the fact of a ClusterQueue; without a selector it takes all namespaces."""
    read_spec: ClusterQueueSpec = specs.cluster_queue(spec, fair=scenario.fair)
    selector = read_spec.namespace_selector or LabelSelector()
    return facts.ClusterQueueDefined(
        at_us=at_us,
        name=name,
        spec=msgspec.structs.replace(read_spec, namespace_selector=selector),
    )


def local_queue_defined(document: Json, at_us: int) -> facts.LocalQueueDefined:
    """Return the fact of a LocalQueue; its fields are beside its name."""
    return facts.LocalQueueDefined(
        at_us=at_us,
        name=document["name"],
        namespace=document.get("namespace", NAMESPACE),
        spec=specs.local_queue(document),
    )


def cohort_defined(name: str, spec: Json, at_us: int) -> facts.CohortDefined:
    """Return the fact of a Cohort."""
    return facts.CohortDefined(at_us=at_us, name=name, spec=specs.cohort(spec))


def submissions(scenario: Scenario) -> dict[str, facts.WorkloadSubmitted]:
    """Return what every workload asks for when it is created, by name."""
    return {workload["name"]: _submitted(workload) for workload in scenario.input["workloads"]}


def key(name: str) -> str:
    """Return a workload's key."""
    return f"{NAMESPACE}/{name}"


def _policy(scenario: Scenario, mode: str) -> Policy:
    fair = scenario.config.get("fairSharing", {}).get("preemptionStrategies", ())
    return Policy(
        rules=VERSION,
        compatibility="kueue" if mode == "kueue" else "tidegate",
        fair_sharing=tuple(fair),
        admission_fair_sharing=_by_usage(scenario.config.get("admissionFairSharing")),
        gates=scenario.config.get("gates", {}),
        repair_after_us=NEVER_US,
    )


def _by_usage(obj: Json | None) -> AdmissionFairSharing | None:
    if obj is None:
        return None
    return AdmissionFairSharing(
        half_life_us=obj["halfLifeSeconds"] * SECOND_US,
        sampling_interval_us=obj["samplingIntervalSeconds"] * SECOND_US,
    )


def _submitted(document: Json) -> facts.WorkloadSubmitted:
    name, namespace = document["name"], document.get("namespace", NAMESPACE)
    return facts.WorkloadSubmitted(
        at_us=T0_US,
        workload=f"{namespace}/{name}",
        uid=name,
        job=ObjectRef(kind="workload", namespace=namespace, name=name, uid=name),
        queue=document["queue"],
        priority=document.get("priority", 0),
        created_us=T0_US + int(document["created"] * SECOND_US),
        podsets=tuple(_podset(podset) for podset in document["podSets"]),
        elastic=document.get("elastic", False),
        replaces=f"{namespace}/{document['replaces']}" if "replaces" in document else "",
        pod_priority_class=document.get("podPriorityClass", ""),
    )


def _podset(document: Json) -> PodSet:
    return PodSet(
        name=document["name"],
        count=document["count"],
        min_count=document.get("minCount"),
        containers=(Container(requests=document["requests"]),),
        node_selector=document.get("nodeSelector", {}),
        node_affinity=tuple(node_term(term) for term in document.get("affinity", ())),
        tolerations=tolerations(document.get("tolerations", ())),
        topology=topology(document.get("topologyRequest")),
    )
