"""Suites ``queue-readiness``, ``queue-order``, ``entry-ordering`` and ``candidates-ordering``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from tests.conformance.cases import Case, Json
from tests.conformance.histories import history, key
from tests.conformance.report import compare
from tests.conformance.stage import definitions, fold, opening, policy, stage
from tidegate.contracts import facts
from tidegate.core.cycle.cycle import classic_order
from tidegate.core.nomination.nominate import Entry
from tidegate.core.preemption import candidates
from tidegate.core.queueing import heads
from tidegate.core.quota.forest import forest
from tidegate.core.quota.readiness import readiness
from tidegate.core.state.state import LocalUsage, State
from tidegate.model.policy import AdmissionFairSharing

_QUEUE = "cq"


def run_readiness(case: Case, mode: str) -> Iterator[str]:
    """Compare whether a ClusterQueue is active, and the reason."""
    state = stage(case, mode)
    if case.input["terminating"]:
        fold(state, _deleting(state, case.input["clusterQueue"]))
    result = readiness(state, case.input["clusterQueue"])
    yield from compare("active", case.expected["active"], result.active)
    yield from compare("reason", case.expected["reason"], result.reason)


def run_order(case: Case, mode: str) -> Iterator[str]:
    """Compare the head of a ClusterQueue after all workloads were queued."""
    given = dict(case.input)
    queue = given["clusterQueue"]
    name = queue.setdefault("metadata", {}).setdefault("name", _QUEUE)
    for workload in given["workloads"]:
        workload["spec"].setdefault("queueName", "main")
    given["clusterQueues"] = [queue]
    given["localQueues"] = _local_queues(given, name)
    state = stage(replace(case, input=given), mode)
    head = heads.head(state, name)
    yield from compare("head", case.expected["head"], head and head.key)


def run_entries(case: Case, mode: str) -> Iterator[str]:
    """Compare the order in which the heads of a cycle are processed."""
    workloads = [entry["workload"] for entry in case.input["entries"]]
    for place, obj in enumerate(workloads):
        obj["metadata"].setdefault("uid", f"{place:04}")  # of equal ones the first told goes first
    state = _queued(case, mode, workloads)
    entries = [
        Entry(
            workload=state.workloads[key(entry["workload"])],
            borrows=entry["borrowing"],
            is_preemptor=entry["isPreemptor"],
        )
        for entry in case.input["entries"]
    ]
    names = [entry.workload.job.name for entry in classic_order(state, entries)]
    yield from compare("order", case.expected["order"], names)


def run_candidates(case: Case, mode: str) -> Iterator[str]:
    """Compare the order in which victims are chosen."""
    current_candidates = case.input["candidates"]
    state = _queued(case, mode, [row["workload"] for row in current_candidates])
    if case.input["admissionFairSharing"]:
        _share_by_usage(state, current_candidates)
    preemptor = case.input["preemptorClusterQueue"]
    workloads = [state.workloads[key(row["workload"])] for row in current_candidates]
    workloads.sort(
        key=lambda workload: candidates.candidate_key(
            state, workload, elsewhere=workload.cluster_queue != preemptor
        )
    )
    usage_first = candidates.order_by_usage(state, workloads, lambda workload: workload)
    yield from compare(
        "order", case.expected["order"], [workload.job.name for workload in usage_first]
    )


def _share_by_usage(state: State, documents: list[Json]) -> None:
    """Let LocalQueues have used what the candidates say, where they say it."""
    state.policy = structs.replace(
        state.policy, admission_fair_sharing=AdmissionFairSharing(half_life_us=0)
    )
    for row in documents:
        if (used := row.get("localQueueFairSharingUsage")) is not None:
            workload = state.workloads[key(row["workload"])]
            state.local_usage[workload.local_queue] = LocalUsage(consumed={"cpu": str(used)})
            at = forest(state).cluster_queues[workload.cluster_queue]
            at.spec = structs.replace(at.spec, usage_based_admission=True)


def _deleting(state: State, name: str) -> Iterator[facts.ClusterQueueDefined]:
    if event := state.objects.cluster_queues.get(name):
        yield facts.ClusterQueueDefined(
            at_us=state.now_us, name=name, spec=event.spec, deleting=True
        )


def _local_queues(given: Json, queue: str) -> list[Json]:
    mapping: dict[str, Json] = {key(queue): queue for queue in given.get("localQueues", ())}
    for workload in given["workloads"]:
        namespace, name = workload["metadata"].get("namespace", ""), workload["spec"]["queueName"]
        meta = {"name": name, "namespace": namespace}
        mapping.setdefault(f"{namespace}/{name}", {"metadata": meta, "spec": {}})
    for workload in mapping.values():
        workload["spec"]["clusterQueue"] = queue
    return list(mapping.values())


def _queued(case: Case, mode: str, workloads: list[Json]) -> State:
    """Return a state of workloads alone, with a ClusterQueue for each that they name."""
    state = State()
    fold(state, opening(policy(case, mode)))
    names = {
        workload.get("status", {}).get("admission", {}).get("clusterQueue")
        for workload in workloads
    }
    queues = [{"metadata": {"name": name}, "spec": {}} for name in sorted(filter(None, names))]
    fold(state, definitions({"clusterQueues": queues}))
    fold(state, history(workloads))
    return state
