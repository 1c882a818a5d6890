"""What is shown of elastic jobs: which Workload takes over from which, and of how many pods.

Source: behaviour.md 13.
"""

from __future__ import annotations

from collections.abc import Mapping

from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.facts import WorkloadChanged, WorkloadSubmitted
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.model.numbers import whole

REPLACED = "WorkloadSliceReplaced"
"""Why a Workload is finished whose job has a larger one."""


def counts(event: WorkloadSubmitted | WorkloadChanged) -> dict[str, int]:
    """Return how many pods are asked for of each podset."""
    return {one.name: one.count for one in event.podsets}


def end(shown: WorkloadView, at_us: int) -> None:
    """Show that another Workload of the job took over from this one."""
    shown.phase, shown.admitted_us = "finished", 0
    message = "Another Workload of its job took over from it"
    shown.set("Finished", true=True, reason=REPLACED, message=message, at_us=at_us)


def follow(shown: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Note which Workload was the first of a new one's job."""
    older = workloads.get(shown.replaces)
    if older is not None:
        shown.first = older.first or older.name


def know(shown: WorkloadView, generation: int, at_us: int) -> bool:
    """Note which generation of its job the ledger knows; tell whether that is news.

    Pods are let go by a Workload only while its job is still as the ledger knew it. What was told
    last counts: a cluster that was restored has its jobs as they were before.
    """
    told, before = (at_us, generation), shown.generation
    if shown.elastic and told > (shown.generation_us, before):
        shown.generation_us, shown.generation = told
    return shown.generation != before


def known(annotations: Mapping[str, str]) -> int:
    """Return which generation of its job a Workload was written for; 0 if it does not say."""
    return whole(annotations.get(names.GENERATION, "")) or 0


def succeed(shown: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Let a Workload that takes over from another know what that one knew."""
    older = workloads.get(shown.replaces)
    if older is not None:
        know(shown, older.generation, older.generation_us)


def marks(shown: WorkloadView) -> dict[str, str]:
    """Return the annotations of a Workload of an elastic job; none of another's."""
    if not shown.elastic:
        return {}
    told = {
        names.ELASTIC_JOB: "true",
        names.GENERATION: str(shown.generation),
        names.SLICE_NAME: shown.first or shown.name,
    }
    return told | ({names.SLICE_REPLACES: shown.replaces} if shown.replaces else {})


def counted(podsets: list[Object], shown: WorkloadView) -> list[Object]:
    """Return podsets as many pods of each as are asked for now."""
    return [{**one, "count": shown.counts.get(one["name"], one["count"])} for one in podsets]


def outgrows(shown: WorkloadView, obj: Object) -> bool:
    """Tell whether more pods are asked for than a Workload says, which shows that it holds quota.

    It left and came back, both unseen: while it holds quota its podsets only become smaller.
    """
    held = obj.get("status", {}).get("conditions", ())
    if not any((one["type"], one["status"]) == ("QuotaReserved", "True") for one in held):
        return False
    asked = shown.counts if shown.phase != "finished" else {}
    return any(asked.get(one["name"], 0) > one["count"] for one in obj["spec"]["podSets"])


def unreserved(found: Object) -> Object:
    """Return the patch by which a Workload holds no quota."""
    held = found["status"]["conditions"]
    left = [one for one in held if one["type"] not in ("QuotaReserved", "Admitted")]
    return {"status": {"admission": None, "conditions": left}}
