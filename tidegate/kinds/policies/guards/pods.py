"""Validation of queued Pods: the annotations of groups, and labels that may no longer change.

Source: api.md 12; behaviour.md 16.
"""

from __future__ import annotations

from tidegate.kinds.names import (
    ADMISSION_GATE,
    ADMISSION_GATED_BY,
    MANAGED,
    MAX_EXECUTION_S,
    POD_GROUP_NAME,
    POD_GROUP_TOTAL_COUNT,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RETRIABLE_IN_GROUP,
)
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Scope,
    Target,
    annotation,
    label,
    only_removed,
    validating_policy,
)
from tidegate.kinds.policies.frameworks import TOPMOST

_GROUP_NAME = "'^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$'"


def pod_guards() -> list[Manifest]:
    """Return the policies about Pods that were gated: on creation, and on change."""
    created = Scope(targets=[_pods("CREATE")], conditions=TOPMOST | _is_managed("object"))
    changed = Scope(targets=[_pods("UPDATE")], conditions=TOPMOST | _is_managed("oldObject"))
    return [
        *validating_policy("check-pods", created, _GROUPS, _variables("object")),
        *validating_policy("check-pod-changes", changed, _CHANGES, {"running": _RUNNING}),
    ]


def _pods(operation: str) -> Target:
    return Target(group="", versions=("v1",), resources=("pods",), operations=(operation,))


def _is_managed(of: str) -> dict[str, str]:
    return {"is-managed": f"{label(MANAGED, of)} != ''"}


def _variables(of: str) -> dict[str, str]:
    by_label, by_annotation = label(POD_GROUP_NAME, of), annotation(POD_GROUP_NAME, of)
    return {
        "group": f"{by_label} != '' ? {by_label} : {by_annotation}",
        "total": annotation(POD_GROUP_TOTAL_COUNT, of),
    }


def _immutable(value: str, before: str, field: str) -> Check:
    return Check(f"{value} == {before}", f"metadata.{field} is immutable")


_RUNNING = f"!oldObject.spec.?schedulingGates.orValue([]).exists(g, g.name == '{ADMISSION_GATE}')"
_GROUPS = (
    Check(
        "(variables.group == '') == (variables.total == '')",
        f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}] and the label or annotation"
        f" [{POD_GROUP_NAME}] go together",
    ),
    Check(
        f"variables.group.matches({_GROUP_NAME})",
        f"metadata.labels[{POD_GROUP_NAME}] is the name of a Workload",
    ),
    Check(
        "variables.total.matches('^([1-9][0-9]{0,8})?$')",
        f"metadata.annotations[{POD_GROUP_TOTAL_COUNT}] is a positive number of pods",
    ),
)
_CHANGES = (
    only_removed(ADMISSION_GATED_BY),
    Check(
        f"{label(PRIORITY_CLASS)} != '' || {label(PRIORITY_CLASS, 'oldObject')} == ''",
        f"metadata.labels[{PRIORITY_CLASS}] may change, but not be removed",
    ),
    Check(
        f"!variables.running || {label(PRIORITY_CLASS)} == ''"
        f" || {label(PRIORITY_CLASS, 'oldObject')} != ''",
        f"metadata.labels[{PRIORITY_CLASS}] may change, but not be added once the pod was admitted",
    ),
    Check(
        f"!variables.running || {label(MAX_EXECUTION_S)} == {label(MAX_EXECUTION_S, 'oldObject')}",
        f"metadata.labels[{MAX_EXECUTION_S}] is immutable once the pod was admitted",
    ),
    _immutable(
        label(POD_GROUP_NAME), label(POD_GROUP_NAME, "oldObject"), f"labels[{POD_GROUP_NAME}]"
    ),
    _immutable(
        annotation(POD_GROUP_NAME),
        annotation(POD_GROUP_NAME, "oldObject"),
        f"annotations[{POD_GROUP_NAME}]",
    ),
    Check(
        f"!variables.running || {label(QUEUE_NAME)} == {label(QUEUE_NAME, 'oldObject')}",
        f"metadata.labels[{QUEUE_NAME}] is immutable once the pod was admitted",
    ),
    Check(
        f"{annotation(RETRIABLE_IN_GROUP, 'oldObject')} != 'false'"
        f" || {annotation(RETRIABLE_IN_GROUP)} == 'false'",
        f"metadata.annotations[{RETRIABLE_IN_GROUP}] stays false once it is",
    ),
)
