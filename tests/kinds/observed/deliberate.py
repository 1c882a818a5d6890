"""Where Tidegate does otherwise than Kueue on purpose: the one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.circumstances import (
    always,
    contradicts,
    has_ended_pods,
    has_excess_pods,
    has_no_patch,
    has_no_submitter,
    has_offset,
    is_elastic,
    is_empty,
    is_fast_and_mixed,
    is_finished,
    is_handed_other_podsets,
    is_refused,
    is_refused_alone,
    is_starting_or_failed,
    is_unfinished,
)

ALL = ("",)
"""Every kind: prefixes of their names."""
PODS, GROUPS = ("pod",), ("podgroup",)  # the first are both


@dataclass(frozen=True)
class Row:
    """Answers that are not compared, or only as to whether there is one."""

    fields: tuple[str, ...]
    why: str
    kinds: tuple[str, ...] = ALL
    when: Callable[[Case], bool] = always
    whether: bool = False  # compared: that both have one
    drops: tuple[str, ...] = ()  # of an object or a list at the field: only these are left out

    def is_about(self, case: Case) -> bool:
        """Tell whether a case's answers are compared less for this row."""
        return case.kind.startswith(self.kinds) and self.when(case)


_ANSWERS = (
    "finished",
    "isActive",
    "isSuspended",
    "podSets",
    "podSetsError",
    "podsReady",
    "priority",
    "reclaimablePods",
    "restore",
    "run",
    "skip",
    "webhook.default",
    "workloadName",
    "managedBy",
)
TABLE = (
    Row(
        (
            "run.error",
            "priority.error",
            "podSetsError",
            "webhook.validateCreate.error",
            "composableWorkload.error",
        ),
        "Tidegate says what is wrong in its own words",
        whether=True,
    ),
    Row(
        _ANSWERS,
        "what makes no sense is refused as a whole: an object that is no job has no answers",
        when=is_refused,
    ),
    Row(
        (*_ANSWERS, "webhook.validateCreate"),
        "so is what has no podsets, or two of one name: no Workload can stand for it",
        when=is_empty,
    ),
    Row(
        ("finished.success", "finished.message"),
        "they mean something only of a job that finished",
        when=is_unfinished,
    ),
    Row(
        ("podLabelSelector", "webhook.validateCreate.warnings"),
        "pods are found by their owner, not by a label; and a policy refuses or says nothing",
    ),
    Row(
        ("restore.infos", "restore.changed"),
        "a stop takes out what the start noted on the job, and is handed no podsets",
    ),
    Row(
        ("restore.object",),
        "the same: a Workload that says otherwise does not change the job's own template",
        when=is_handed_other_podsets,
    ),
    Row(
        ("run", "restore"),
        "a job that is over is left as it is",
        when=is_finished,
    ),
    Row(
        ("priority.jobPriorityClass",),
        "what is told is the class that counts in the end, as ref",
    ),
    Row(
        ("webhook.default.object", "run.object"),
        "pods of elastic jobs are gated by the start, not when the job is made: until then it is"
        " suspended",
        when=is_elastic,
    ),
    Row(
        ("webhook.default.object",),
        "the offset of pod indexes is for placements on a topology, which are not made",
        kinds=("mpijob",),
        when=has_offset,
    ),
    Row(
        ("isSuspended", "run.isSuspended"),
        "a pod that ended is over, which is not called suspended",
        kinds=PODS,
        when=has_ended_pods,
    ),
    Row(
        ("podsReady", "composableWorkload"),
        "a pod that succeeded is as good as ready, and a group that ran is taken over as it is",
        kinds=GROUPS,
        when=has_ended_pods,
    ),
    Row(
        ("podSets", "run"),
        "the newest pods beyond the total are not counted, and deleted by the start",
        kinds=GROUPS,
        when=has_excess_pods,
    ),
    Row(
        ("workloadName",),
        "the Workload of a group has the group's name, as composableWorkload says",
        kinds=GROUPS,
    ),
    Row(
        ("podSets.template.spec",),
        "a template stands in the Workload as its owner wrote it, without Kubernetes' defaults",
        kinds=("appwrapper",),
        drops=(
            "dnsPolicy",
            "preemptionPolicy",
            "restartPolicy",
            "schedulerName",
            "securityContext",
            "terminationGracePeriodSeconds",
        ),
    ),
    Row(
        (
            "podSets.template.spec.containers.imagePullPolicy",
            "podSets.template.spec.containers.terminationMessagePath",
            "podSets.template.spec.containers.terminationMessagePolicy",
        ),
        "nor those of its containers",
        kinds=("appwrapper",),
    ),
    Row(
        ("run",),
        "what contradicts a template is found before the start, not by the kind's controller",
        kinds=("appwrapper", "trainjob"),
        when=contradicts,
    ),
    Row(
        ("webhook.default.object.spec",),
        "the start writes Kueue's patch of the runtime; there is none before",
        kinds=("trainjob",),
        drops=("runtimePatches",),
    ),
    Row(
        ("run",),
        "so it needs none to be there",
        kinds=("trainjob",),
        when=has_no_patch,
    ),
    Row(
        ("restore.object",),
        "each field is again what it was, not what its podset says",
        kinds=("sparkapplication",),
    ),
    Row(
        ("isActive",),
        "a cluster that is not ready, or failed, may have pods that hold its quota",
        kinds=("raycluster",),
        when=is_starting_or_failed,
    ),
    Row(
        ("restore.object.spec",),
        "a template that the start had to write is gone after the stop, as it was before",
        kinds=("rayjob",),
        when=has_no_submitter,
        drops=("submitterPodTemplate",),
    ),
    Row(
        ("isActive",),
        "a pod that runs holds its quota until it is gone, and a node until then",
        kinds=PODS,
    ),
    Row(
        ("podSets.template.spec", "webhook.default.object.spec", "run.pods.spec"),
        "a Workload's template shows no gate of its pods; topologies are not placed on",
        kinds=PODS,
        drops=("schedulingGates",),
    ),
    Row(
        ("webhook.default.object.metadata", "run.object.metadata", "run.pods.metadata"),
        "no finalizer is put on pods, and Kueue's goes with the first decision",
        kinds=PODS,
        drops=("finalizers",),
    ),
    Row(
        ("webhook.default.object.metadata.annotations", "run.pods.metadata.annotations"),
        "the role of a pod is noted by its start",
        kinds=PODS,
        drops=("kueue.x-k8s.io/role-hash",),
    ),
    Row(
        ("composableWorkload",),
        "no Workload is made of a pod that is refused",
        kinds=PODS,
        when=is_refused_alone,
    ),
    Row(
        (*_ANSWERS, "composableWorkload"),
        "a group that is charged by its first pod has no pods that ask for something else",
        kinds=GROUPS,
        when=is_fast_and_mixed,
    ),
    Row(
        ("load",),
        "the same: there are no finalizers to take off",
        kinds=PODS,
    ),
    Row(
        ("composableWorkload",),
        "a Workload's labels are its job's, its finalizer is none, its marks are Tidegate's",
        kinds=PODS,
        drops=("labels", "annotations", "finalizers"),
    ),
)


def adapted(
    case: Case, expected: Object, found: Object, table: Iterable[Row]
) -> tuple[Object, Object]:
    """Return both sides without what differs on purpose."""
    for row in table:
        if row.is_about(case):
            for field in row.fields:
                expected, found = _told(expected, field, row), _told(found, field, row)
    return expected, found


def _told(side: Any, field: str, row: Row) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(side, list):
        return [_told(one, field, row) for one in side]
    name, _, rest = field.partition(".")
    if not isinstance(side, dict) or name not in side:
        return side
    kept = {key: value for key, value in side.items() if key != name}
    if rest:
        return kept | {name: _told(side[name], rest, row)}
    if row.drops:
        return kept | {name: _without(side[name], row.drops)}
    return kept | {name: bool(side[name])} if row.whether else kept


def _without(value: Any, dropped: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
    match value:
        case dict():
            return {key: one for key, one in value.items() if key not in dropped}
        case list():
            names = [one.get("name") if isinstance(one, dict) else one for one in value]
            return [one for one, name in zip(value, names, strict=True) if name not in dropped]
        case _:
            return value
