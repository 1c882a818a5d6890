"""Orders as a case hands them over, and an observation under the names of the cases."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tests.kinds.observed.cases import Info, Object
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved
from tidegate.core.quota.requests import pod_total
from tidegate.jobs.kind import Start, Stop
from tidegate.kinds.pods import Toleration
from tidegate.kinds.podsets import toleration
from tidegate.model.ids import ObjectRef

_SERVERS = ("creationTimestamp", "resourceVersion")
_WORKLOAD_CLASS = ("kueue.x-k8s.io", "WorkloadPriorityClass", {"wl-low": -5, "wl-high": 900})
_POD_CLASS = (
    "scheduling.k8s.io",
    "PriorityClass",
    {"bronze": 10, "silver": 200, "gold": 3000, "policy-class": 77},
)
"""Group, kind and values of the classes in the cluster that every case ran in."""


def as_reported(observed: JobObserved) -> Object:
    """Return what an observation says."""
    state, pods = observed.state, sum(podset.count for podset in observed.podsets)
    return {
        "workloadName": observed.workload.partition("/")[2],
        "isSuspended": state.suspended,
        "isActive": state.active > 0,
        "podsReady": not state.suspended and state.ready + state.succeeded >= pods,
        "finished": {
            "finished": bool(observed.finished),
            "success": observed.finished == "Succeeded",
            "message": observed.message,
        },
        "priority": _priority(observed),
        "reclaimablePods": [
            {"name": name, "count": count} for name, count in observed.reclaimable.items()
        ],
        "composableWorkload": {
            "name": observed.workload.partition("/")[2],
            "queueName": observed.queue,
            "podSets": [
                {"name": podset.name, "count": podset.count} for podset in observed.podsets
            ],
        },
    }


def units_of(podsets: Sequence[Object], observed: JobObserved) -> list[Object]:
    """Return podsets with the requests of one pod: thousandths of a core, whole units else."""
    return [
        {**fields, "requests": _units(pod_total(seen))}
        for fields, seen in zip(podsets, observed.podsets, strict=True)
    ]


def shown(obj: Object) -> Object:
    """Return an object's metadata and spec, as the cases keep them."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _SERVERS}
    return {"metadata": meta, "spec": obj["spec"]}


def start_of(infos: Sequence[Info], uid: str = "u") -> Start:
    """Return the order that hands these to a job's podsets."""
    order = StartOrdered(
        at_us=1, workload="lab/w", job=_job(uid), podsets=tuple(_given(info) for info in infos)
    )
    return Start(order=order, ledger_id="L1", seq=5)


def stop_order(seq: int) -> Stop:
    """Return an order to stop; the start's number is 5."""
    order = StopOrdered(at_us=2, workload="lab/w", job=_job("u"))
    return Stop(order=order, ledger_id="L1", seq=seq)


def _job(uid: str) -> ObjectRef:
    return ObjectRef(kind="batch/job", namespace="lab", name="job", uid=uid)


def _given(info: Info) -> PodSetStart:
    return PodSetStart(
        name=info.name,
        count=info.count,
        node_selector=info.node_selector,
        tolerations=tuple(
            toleration(msgspec.convert(candidate_toleration, Toleration))
            for candidate_toleration in info.tolerations
        ),
        labels=info.labels,
        annotations=info.annotations,
        gates=tuple(gate["name"] for gate in info.scheduling_gates),
    )


def _priority(observed: JobObserved) -> Object:
    named = observed.priority_class
    name = named or observed.pod_priority_class
    group, kind, known = _WORKLOAD_CLASS if named else _POD_CLASS
    if not name:
        return {"value": 0}
    if name not in known:
        return {"error": name}
    return {"value": known[name], "ref": {"group": group, "kind": kind, "name": name}}


def _units(nanos: dict[str, int]) -> dict[str, int]:
    return {name: -(-value // (10**6 if name == "cpu" else 10**9)) for name, value in nanos.items()}
