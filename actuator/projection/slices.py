"""The status of elastic jobs: which Workload slice replaces which, and for how many pods.

Source: behaviour.md 13.
"""

from __future__ import annotations

from collections.abc import Mapping

from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.facts import WorkloadChanged, WorkloadSubmitted
from tidegate.contracts.phases import SLICE_REPLACED
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.model.texts import whole


def counts(event: WorkloadSubmitted | WorkloadChanged) -> dict[str, int]:
    """Return how many pods are asked for of each podset."""
    return {podset.name: podset.count for podset in event.podsets}


def end(view: WorkloadView, at_us: int) -> None:
    """Show that another Workload of the job took over from this one."""
    view.phase, view.admitted_us = "finished", 0
    message = "Another Workload of its job took over from it"
    view.set("Finished", true=True, reason=SLICE_REPLACED, message=message, at_us=at_us)


def follow(view: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Note which Workload was the first of a new one's job."""
    older = workloads.get(view.replaces)
    if older is not None:
        view.first = older.first or older.name


def know(view: WorkloadView, generation: int, at_us: int) -> bool:
    """Record the job's generation that the ledger knows; return whether it is new.

    Pods are ungated by a Workload only while its job is still as the ledger knew it. What came
    last counts: a cluster that was restored has its jobs as they were before.
    """
    state, before = (at_us, generation), view.generation
    if view.elastic and state > (view.generation_us, before):
        view.generation_us, view.generation = state
    return view.generation != before


def generation_of(annotations: Mapping[str, str]) -> int:
    """Return which generation of its job a Workload was written for; 0 if it does not say."""
    return whole(annotations.get(names.GENERATION, "")) or 0


def succeed(view: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Let a Workload that takes over from another know what that one knew."""
    older = workloads.get(view.replaces)
    if older is not None:
        know(view, older.generation, older.generation_us)


def marks(view: WorkloadView) -> dict[str, str]:
    """Return the annotations of a Workload of an elastic job; none of another's."""
    if not view.elastic:
        return {}
    marks_of = {
        names.ELASTIC_JOB: "true",
        names.GENERATION: str(view.generation),
        names.SLICE_NAME: view.first or view.name,
    }
    return marks_of | ({names.SLICE_REPLACES: view.replaces} if view.replaces else {})


def counted(podsets: list[Object], view: WorkloadView) -> list[Object]:
    """Return podsets as many pods of each as are asked for now."""
    return [
        {**podset, "count": view.counts.get(podset["name"], podset["count"])} for podset in podsets
    ]


def outgrows(view: WorkloadView, obj: Object) -> bool:
    """Return whether a job requests more pods than its Workload with quota has.

    It left and came back, both unseen: while it holds quota its podsets only become smaller.
    """
    conditions = obj.get("status", {}).get("conditions", ())
    if not any(
        (sizes["type"], sizes["status"]) == ("QuotaReserved", "True") for sizes in conditions
    ):
        return False
    required = view.counts if view.phase != "finished" else {}
    return any(
        required.get(podset["name"], 0) > podset["count"] for podset in obj["spec"]["podSets"]
    )


def unreserved(obj: Object) -> Object:
    """Return the patch by which a Workload holds no quota."""
    conditions = obj["status"]["conditions"]
    remaining = [
        condition
        for condition in conditions
        if condition["type"] not in ("QuotaReserved", "Admitted")
    ]
    return {"status": {"admission": None, "conditions": remaining}}
