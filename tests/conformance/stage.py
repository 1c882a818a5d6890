"""A case's input folded into a state: the only way in, as for a ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from tests.conformance import specs
from tests.conformance.cases import Case, Json, micros
from tests.conformance.histories import history, key
from tests.conformance.topologies import node_spec, usage
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.observations import LimitRangeItem
from tidegate.core.decide import VERSION
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import LocalUsage, State
from tidegate.model.policy import (
    DEFAULT_STRATEGIES,
    AdmissionFairSharing,
    PodsReady,
    Policy,
    Transformation,
)
from tidegate.model.quantity import parse_quantity

NEVER_US = 10**18
"""A deadline that no recorded clock reaches: no actuator runs in these worlds."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNIT_US = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}


def fold(state: State, events: Iterable[FactEvent | DecisionEvent]) -> None:
    """Fold events in order."""
    for event in events:
        apply(state, event)


def stage(case: Case, mode: str, *, admit: bool = False) -> State:
    """Return a state in which a case's objects exist and its workloads' past has happened.

    ``admit``: see ``histories.history``.
    """
    state = State()
    fold(state, opening(policy(case, mode)))
    fold(state, definitions(case.input))
    for queue, consumed in case.input.get("initialLocalQueueUsage", {}).items():
        decimals = {name: _decimal(text) for name, text in consumed.items()}
        state.local_usage[queue] = LocalUsage(consumed=decimals, updated_us=case.now_us)
    fold(state, history(case.input.get("workloads", ()), admit=admit))
    apply(state, facts.TimePassed(at_us=max(case.now_us, state.now_us)))
    return state


def opening(configured: Policy) -> list[FactEvent]:
    """Return what every ledger of these worlds begins with: no watches to wait for, a policy."""
    return [
        facts.LedgerOpened(at_us=0, ledger_id="conformance"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.PolicyConfigured(at_us=0, name="policy", policy=configured),
    ]


def policy(case: Case, mode: str) -> Policy:
    """Return the controller's configuration of a case."""
    given = case.input
    fair = given.get("preemptionStrategies") or DEFAULT_STRATEGIES
    return Policy(
        rules=VERSION,
        compatibility="kueue" if mode == "kueue" else "tidegate",
        fair_sharing=tuple(fair) if given.get("fairSharing") else (),
        admission_fair_sharing=_admission_fair_sharing(given.get("admissionFairSharing")),
        pods_ready=_pods_ready(given.get("podsReadyRequeuingTimestamp")),
        gates=case.gates,
        exclude_resource_prefixes=tuple(given.get("excludedResourcePrefixes", ())),
        transformations=tuple(map(_transformation, given.get("resourceTransformations", ()))),
        repair_after_us=NEVER_US,
    )


def definitions(given: Json) -> list[FactEvent]:
    """Return the facts that define a case's objects."""
    fair = bool(given.get("fairSharing"))
    deleted = given.get("deletedFlavors", ())
    others = given.get("otherObjects", {})
    events: list[FactEvent] = []
    events += [
        _flavor(flavor)
        for flavor in given.get("resourceFlavors", ())
        if _name(flavor) not in deleted
    ]
    events += nodes_of(given)
    events += [_cohort(cohort) for cohort in given.get("cohorts", ())]
    events += _checks(given)
    events += [cluster_queue(queue, fair=fair) for queue in with_checks(given)]
    events += [_local_queue(queue) for queue in given.get("localQueues", ())]
    events += [_namespace(namespace) for namespace in given.get("namespaces", ())]
    ranges = [*given.get("limitRanges", ()), *others.get("LimitRange", ())]
    events += [_limit_range(range_) for range_ in ranges]
    classes = [*given.get("runtimeClasses", ()), *others.get("RuntimeClass", ())]
    return events + [_runtime_class(class_) for class_ in classes]


def nodes_of(given: Json) -> Iterator[FactEvent]:
    """Return the facts about topologies, nodes and the pods on these."""
    for topology in given.get("topologies", ()):
        levels = tuple(level["nodeLabel"] for level in topology["spec"]["levels"])
        yield facts.TopologyDefined(at_us=0, name=_name(topology), levels=levels)
    for topology in given.get("nodes", ()):
        yield facts.NodeDefined(at_us=0, name=_name(topology), spec=node_spec(topology))
    for node, used in usage(given.get("pods", ())).items():
        yield facts.NodePodsReported(at_us=0, name=node, usage=used)


def with_checks(given: Json) -> list[Json]:
    """Return the ClusterQueues with the checks that their workloads carry.

    A cluster's controllers copy a queue's checks to its workloads; some recorded objects have only
    the copy.
    """
    carried = {queue: names for queue, names in _carried_checks(given) if names}
    queues = []
    for queue in given.get("clusterQueues", ()):
        rules = [{"name": name} for name in carried.get(_name(queue), ())]
        checks = {"admissionChecksStrategy": {"admissionChecks": rules}} if rules else {}
        queues.append({**queue, "spec": {**checks, **queue["spec"]}})
    return queues


def _carried_checks(given: Json) -> Iterator[tuple[str, list[str]]]:
    leads = {
        key(queue): queue["spec"].get("clusterQueue", "") for queue in given.get("localQueues", ())
    }
    for workload in given.get("workloads", ()):
        namespace, queue = key(workload).partition("/")[0], workload["spec"].get("queueName", "")
        checks = workload.get("status", {}).get("admissionChecks", ())
        yield leads.get(f"{namespace}/{queue}", ""), [check["name"] for check in checks]


def duration_us(text: str) -> int:
    """Return a Go duration such as ``1m30s`` in microseconds."""
    return sum(int(float(number) * _UNIT_US[unit]) for number, unit in _DURATION.findall(text))


def _decimal(quantity: str) -> str:
    value = parse_quantity(quantity)
    return str(Decimal(value.numerator) / Decimal(value.denominator))


def _name(document: Json) -> str:
    name: str = document["metadata"]["name"]
    return name


def _namespace_of(document: Json) -> str:
    namespace: str = document["metadata"].get("namespace", "")
    return namespace


def _flavor(document: Json) -> facts.FlavorDefined:
    return facts.FlavorDefined(
        at_us=0, name=_name(document), spec=specs.flavor(document.get("spec", {}))
    )


def _cohort(document: Json) -> facts.CohortDefined:
    return facts.CohortDefined(
        at_us=0, name=_name(document), spec=specs.cohort(document.get("spec", {}))
    )


def _checks(given: Json) -> Iterator[facts.CheckDefined]:
    known = [_check(check) for check in given.get("admissionChecks", ())]
    yield from known
    for name in sorted({name for _, names in _carried_checks(given) for name in names}):
        if name not in {event.name for event in known}:
            yield facts.CheckDefined(at_us=0, name=name, controller="", active=True)


def _check(document: Json) -> facts.CheckDefined:
    mapping = {
        condition["type"]: condition["status"]
        for condition in document.get("status", {}).get("conditions", ())
    }
    return facts.CheckDefined(
        at_us=0,
        name=_name(document),
        controller=document["spec"].get("controllerName", ""),
        active=mapping.get("Active") == "True",
    )


def cluster_queue(document: Json, *, fair: bool = False) -> facts.ClusterQueueDefined:
    """Return the fact that defines a ClusterQueue."""
    return facts.ClusterQueueDefined(
        at_us=0,
        name=_name(document),
        spec=specs.cluster_queue(document["spec"], fair=fair),
        created_us=micros(document["metadata"].get("creationTimestamp", "")),
    )


def _local_queue(document: Json) -> facts.LocalQueueDefined:
    return facts.LocalQueueDefined(
        at_us=0,
        name=_name(document),
        namespace=_namespace_of(document),
        spec=specs.local_queue(document["spec"]),
    )


def _namespace(document: Json) -> facts.NamespaceDefined:
    labels = document["metadata"].get("labels", {})
    return facts.NamespaceDefined(at_us=0, name=_name(document), labels=labels)


def _limit_range(document: Json) -> facts.LimitRangeDefined:
    items = tuple(
        LimitRangeItem(
            type=limit["type"],
            max=limit.get("max", {}),
            min=limit.get("min", {}),
            default=limit.get("default", {}),
            default_request=limit.get("defaultRequest", {}),
            max_ratio=limit.get("maxLimitRequestRatio", {}),
        )
        for limit in document["spec"].get("limits", ())
    )
    return facts.LimitRangeDefined(
        at_us=0, name=_name(document), namespace=_namespace_of(document), items=items
    )


def _runtime_class(document: Json) -> facts.RuntimeClassDefined:
    overhead = document.get("overhead", {}).get("podFixed", {})
    return facts.RuntimeClassDefined(at_us=0, name=_name(document), overhead=overhead)


def _admission_fair_sharing(obj: Json | None) -> AdmissionFairSharing | None:
    if not isinstance(obj, dict):  # some suites only say whether it is on
        return None
    return AdmissionFairSharing(
        half_life_us=duration_us(obj.get("usageHalfLifeTime", "0s")),
        sampling_interval_us=duration_us(obj.get("usageSamplingInterval", "0s")),
        resource_weights={
            name: str(value) for name, value in obj.get("resourceWeights", {}).items()
        },
    )


def _pods_ready(timestamp: str | None) -> PodsReady | None:
    if timestamp is None:
        return None
    return PodsReady(
        timeout_us=NEVER_US,
        requeuing_timestamp="Creation" if timestamp == "Creation" else "Eviction",
    )


def _transformation(document: Json) -> Transformation:
    return Transformation(
        input=document["input"],
        strategy=document.get("strategy") or "Retain",
        multiply_by=document.get("multiplyBy", ""),
        outputs=document.get("outputs", {}),
    )
