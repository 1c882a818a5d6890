"""Workloads that could start and do not, as a judge sees it that adds up CPU and knows no rule.

Only what leaves no doubt is said: a queue is open and has the quota for whichever waits in it,
no workload is about to leave, and nothing that they said has a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.state import State
from tests.simulation.cluster import COHORT, milli
from tests.simulation.judging.ledger_watch import LedgerWatch

Object = dict[str, Any]
QUEUES = "clusterqueues.kueue.x-k8s.io"
WORKLOADS = "workloads.kueue.x-k8s.io"
LOCALS = "localqueues.kueue.x-k8s.io"


def fits(state: State, ledger: LedgerWatch) -> Iterator[str]:
    """Yield each Workload that waits though its queue has quota of its own to spare for it."""
    waiting = dict[str, list[Object]]()
    for workload in state.items(WORKLOADS):
        queue = _open_queue(state, workload)
        if queue and _waits(workload, ledger):
            waiting.setdefault(queue, []).append(workload)
    for queue, documents in waiting.items():
        if queue not in COHORT or _is_leaving(queue, ledger):
            continue
        shared = _cohort(queue)
        if not shared <= ledger.quota.keys():
            continue  # a ledger that began anew has not been told of it yet
        spare = ledger.quota[queue] - ledger.used({queue})
        spare = min(spare, sum(ledger.quota[text] for text in shared) - ledger.used(shared))
        if max(map(_cpu_milli, documents)) <= spare:
            waits = ", ".join(map(_key, documents))
            yield f"{waits} waits, and {queue} has {spare}m cpu to spare"
        yield from _outranked(state, ledger, queue, documents, spare)


def _outranked(
    state: State, ledger: LedgerWatch, queue: str, documents: list[Object], spare: int
) -> Iterator[str]:
    """Yield jobs that wait though lower priorities in their queue hold what they ask for."""
    highest = max(map(_priority, documents))
    first = [job for job in documents if _priority(job) == highest]
    below = 0
    for key, held in ledger.holding.items():
        shown = state.get(WORKLOADS, *key.split("/", 1)) if held.queue == queue else None
        below += held.cpu if shown is not None and _priority(shown) < highest else 0
    if below and max(map(_cpu_milli, first)) <= spare + below:
        waits = ", ".join(map(_key, first))
        yield f"{waits} waits, and lower ones hold {below}m cpu of {queue}"


def _cohort(queue: str) -> set[str]:
    return {text for text in COHORT if COHORT[text] == COHORT[queue] != ""} or {queue}


def _open_queue(state: State, obj: Object) -> str:
    """Return the ClusterQueue that a Workload waits for, if that is open to it; else nothing."""
    local = state.get(LOCALS, obj["metadata"]["namespace"], obj["spec"].get("queueName", ""))
    if local is None or local["spec"].get("stopPolicy", "None") != "None":
        return ""
    name: str = local["spec"]["clusterQueue"]
    queue = state.get(QUEUES, "", name)
    stopped = queue is None or queue["spec"].get("stopPolicy", "None") != "None"
    return "" if stopped else name


def _waits(obj: Object, ledger: LedgerWatch) -> bool:
    key, status = _key(obj), obj.get("status", {})
    held = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    if key in ledger.holding or key not in ledger.jobs or not obj["spec"].get("active", True):
        return False
    if held.get("Finished") == "True" or held.get("Requeued") == "False":
        return False
    return "requeueAt" not in status.get("requeueState", {})


def _is_leaving(queue: str, ledger: LedgerWatch) -> bool:
    return any(ledger.holding[text].queue in _cohort(queue) for text in ledger.evicting)


def _cpu_milli(obj: Object) -> int:
    (podset,) = obj["spec"]["podSets"]
    (container,) = podset["template"]["spec"]["containers"]
    cpu: str = container["resources"]["requests"]["cpu"]
    return int(podset["count"]) * milli(cpu)


def _priority(obj: Object) -> int:
    return int(obj["spec"].get("priority", 0))


def _key(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
