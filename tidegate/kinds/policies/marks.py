"""Fields that only the actuator may write: marks on jobs, admissions in statuses, gates of pods.

A user with the right to ``write`` the resource ``marks`` of the group ``tidegate.dev`` may: the
actuator's role has it, and administrators have every right. No such resource is served. The core
does not believe a forged mark without these policies either; they refuse it with a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.kinds.names import (
    ADMISSION_GATE,
    CHECKS_SINCE,
    DECISION,
    ELASTIC_JOB,
    ELASTIC_POD,
    GROUP_UID,
    INJECTED,
    ORDERED,
    ORIGIN,
    ORIGIN_QUEUE,
    PODSET,
    TOPOLOGY_GATE,
)
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    Target,
    annotation,
    kueue,
    label,
    validating_policy,
)
from tidegate.kinds.policies.frameworks import TOPMOST

MARKS_GROUP, MARKS, WRITE = "tidegate.dev", "marks", "write"
"""A right of the actuator's role and of administrators only."""
MARKS_KEPT = (DECISION, INJECTED, GROUP_UID, ORIGIN, ORIGIN_QUEUE)
"""Annotations that no other user may add, change or remove."""
GATES_KEPT = (ADMISSION_GATE, ELASTIC_JOB, TOPOLOGY_GATE)
"""Scheduling gates of pods that no other user may remove."""
COUNTED_BY = (ELASTIC_POD, PODSET)
"""Labels by which the running pods of an elastic job are counted, so that others wait."""
CONDITIONS_KEPT = ("QuotaReserved", "Admitted", ORDERED, CHECKS_SINCE)
"""Conditions of a Workload that say that it may run, or since when its checks count."""
KEEP_MARKS, KEEP_ADMISSIONS, KEEP_GATES = "keep-marks", "keep-admissions", "keep-gates"
_ALONE = "written by Tidegate alone, leave it as it is"
SAID = {
    KEEP_MARKS: f"metadata.annotations[{', '.join(MARKS_KEPT)}]: {_ALONE}",
    KEEP_ADMISSIONS: f"status.admission, status.conditions[{', '.join(CONDITIONS_KEPT)}]: {_ALONE}",
    KEEP_GATES: f"spec.schedulingGates[{', '.join(GATES_KEPT)}], metadata.labels"
    f"[{', '.join(COUNTED_BY)}] of elastic jobs: removed and changed by Tidegate alone",
}
"""The message of a refused write, by the policy's name."""
MAY_WRITE = f"authorizer.group('{MARKS_GROUP}').resource('{MARKS}').check('{WRITE}').allowed()"
"""The expression of whether the user has that right."""
_PODS = Target(group="", versions=("v1",), resources=("pods",))


def protect_marks(jobs: Sequence[Target], *, pods: bool = False) -> list[Manifest]:
    """Return the policies about annotations of jobs and about the statuses of Workloads.

    What the controller of a known kind makes is left alone: KubeRay copies all annotations of a
    RayJob to its RayCluster. No mark of such an object counts.
    """
    marked = Scope(
        targets=[*jobs, kueue("workloads"), *([_PODS] if pods else [])],
        conditions={"writes-a-mark": _is_any_mark_changed()} | TOPMOST,
    )
    admitted = Scope(
        targets=[kueue("workloads/status", operations=("UPDATE",))],
        conditions={"writes-an-admission": _is_admission_changed()},
    )
    return [
        *validating_policy(KEEP_MARKS, marked, [Check(MAY_WRITE, SAID[KEEP_MARKS])]),
        *validating_policy(KEEP_ADMISSIONS, admitted, [Check(MAY_WRITE, SAID[KEEP_ADMISSIONS])]),
    ]


def protect_gates() -> list[Manifest]:
    """Return the policy about pods: their gates are removed when they are admitted.

    Of an elastic job as many are let go as were granted, less those that run by its labels.
    """
    scope = Scope(
        targets=[msgspec.structs.replace(_PODS, operations=("UPDATE",))],
        conditions={"removes-a-gate": f"{_is_gate_removed()} || {_has_wrong_count()}"},
    )
    return validating_policy(KEEP_GATES, scope, [Check(MAY_WRITE, SAID[KEEP_GATES])])


def _is_any_mark_changed() -> str:
    """Return the expression of whether a mark is another than before; on a creation, is there."""
    marked = " || ".join(f"{annotation(key)} != ''" for key in MARKS_KEPT)
    other = " || ".join(
        f"{annotation(key)} != {annotation(key, 'oldObject')}" for key in MARKS_KEPT
    )
    new, old = (f"{of}.metadata.?annotations.orValue({{}})" for of in ("object", "oldObject"))
    grouped = f"{new}.exists(k, {_OF_GROUPS})"
    changed = f"{new}.exists(k, {_OF_GROUPS} && {new}[k] != {old}[?k].orValue(''))"
    removed = f"{old}.exists(k, {_OF_GROUPS} && !(k in {new}))"
    anew = f"{other} || {changed} || {removed}"
    return f"request.operation == 'CREATE' ? ({marked} || {grouped}) : ({anew})"


_OF_GROUPS = f"(k.startsWith('{DECISION}-') || k.startsWith('{INJECTED}-'))"
"""Whether a key is a mark of an object that is several jobs: of each under a number of its own."""


def _is_admission_changed() -> str:
    def of(root: str) -> str:
        filtered = f".filter(c, c.type in {list(CONDITIONS_KEPT)})"
        return f"{root}.?status.?conditions.orValue([]){filtered}"

    admission = "object.?status.?admission != oldObject.?status.?admission"
    return f"{admission} || {of('object')} != {of('oldObject')}"


def _is_gate_removed() -> str:
    gates = "{}.spec.?schedulingGates.orValue([])"
    remains = f"{gates.format('object')}.exists(h, h.name == g.name)"
    return f"{gates.format('oldObject')}.exists(g, g.name in {list(GATES_KEPT)} && !{remains})"


def _has_wrong_count() -> str:
    changed = (f"{label(key)} != {label(key, 'oldObject')}" for key in COUNTED_BY)
    return f"({label(ELASTIC_POD, 'oldObject')} != '' && ({' || '.join(changed)}))"
