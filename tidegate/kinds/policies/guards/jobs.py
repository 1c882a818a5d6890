"""Validation of Kueue's labels on jobs: their values, and when they may no longer change."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.kinds.names import (
    ADMISSION_GATED_BY,
    COMPLETIONS_EQUAL_PARALLELISM,
    DECISION,
    ELASTIC_JOB,
    MAX_EXECUTION_S,
    MIN_PARALLELISM,
    PREBUILT_WORKLOAD,
    PRIORITY_CLASS,
    QUEUE_NAME,
)
from tidegate.kinds.policies.forms import (
    Check,
    Manifest,
    Param,
    Scope,
    annotation,
    are_paths,
    label,
    only_removed,
    validating_policy,
)
from tidegate.kinds.policies.frameworks import TOPMOST, Framework

_LABELS = (
    Check(
        f"{label(QUEUE_NAME)} != '' || !('{QUEUE_NAME}' in object.metadata.?labels.orValue({{}}))",
        f"metadata.labels[{QUEUE_NAME}] is empty: name a LocalQueue, or leave the label out",
    ),
    Check(
        f"{label(QUEUE_NAME)} != '' || {annotation(QUEUE_NAME)} == ''",
        f"metadata.annotations[{QUEUE_NAME}] is not read any more:"
        f" write metadata.labels[{QUEUE_NAME}] instead",
    ),
    Check(
        f"{label(QUEUE_NAME)}.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$')",
        f"metadata.labels[{QUEUE_NAME}] is the name of a LocalQueue",
    ),
    Check(
        f"{label(MAX_EXECUTION_S)}.matches('^([1-9][0-9]{{0,9}})?$')",
        f"metadata.labels[{MAX_EXECUTION_S}] is a positive number of seconds",
    ),
    are_paths(ADMISSION_GATED_BY),
)


def job_guards(frameworks: tuple[Framework, ...]) -> list[Manifest]:
    """Return the policies about labels of jobs: on creation, and on change."""
    creations = [framework.target("CREATE") for framework in frameworks]
    policy = validating_policy("check-jobs", Scope(targets=creations, conditions=TOPMOST), _LABELS)
    for framework in frameworks:
        scope = Scope(targets=[framework.target("UPDATE")], conditions=TOPMOST)
        running = {"running": framework.running, "was_running": framework.was_running}
        checks = (*_CHANGES, *_OF_KIND.get(framework.name, ()))
        policy += validating_policy(f"check-{framework.slug}-changes", scope, checks, running)
    changed = [framework.target("UPDATE") for framework in frameworks]
    update_scope = Scope(targets=changed, conditions=TOPMOST, param=Param(kind="LocalQueue"))
    return policy + validating_policy("keep-queue-name", update_scope, [_KEPT])


def _immutable_label(key: str) -> Check:
    return Check(
        f"!variables.running || {label(key)} == {label(key, 'oldObject')}",
        f"metadata.labels[{key}] is immutable while the job is not suspended",
    )


def _immutable_annotation(key: str) -> Check:
    return Check(
        f"!variables.running || {annotation(key)} == {annotation(key, 'oldObject')}",
        f"metadata.annotations[{key}] is immutable while the job is not suspended",
    )


def _kept_prebuilt(where: Callable[..., str], field: str) -> Check:
    """Return that a running job names the same Workload; an elastic one may name its next slice.

    Source: Kueue's validateUpdateForPrebuiltWorkload.
    """
    return Check(
        f"!variables.running || {annotation(ELASTIC_JOB, 'oldObject')} == 'true'"
        f" || {where(PREBUILT_WORKLOAD)} == {where(PREBUILT_WORKLOAD, 'oldObject')}",
        f"metadata.{field}[{PREBUILT_WORKLOAD}] is immutable while the job is not suspended",
    )


_CHANGES = (
    _immutable_label(QUEUE_NAME),
    _kept_prebuilt(label, "labels"),
    _kept_prebuilt(annotation, "annotations"),
    Check(
        f"!(variables.running || variables.was_running)"
        f" || {label(MAX_EXECUTION_S)} == {label(MAX_EXECUTION_S, 'oldObject')}",
        f"metadata.labels[{MAX_EXECUTION_S}] is immutable while the job is not suspended",
    ),
    Check(
        f"!variables.running || ({label(PRIORITY_CLASS)} == '')"
        f" == ({label(PRIORITY_CLASS, 'oldObject')} == '')",
        f"metadata.labels[{PRIORITY_CLASS}] of a running job may change,"
        " but not be added or removed",
    ),
    Check(
        f"{label(PRIORITY_CLASS)} != '' || {label(PRIORITY_CLASS, 'oldObject')} == ''",
        f"metadata.labels[{PRIORITY_CLASS}] may change, but not be removed",
    ),
    _immutable_annotation(ELASTIC_JOB),
    only_removed(ADMISSION_GATED_BY),
)
_TRUE = "['1', 't', 'T', 'true', 'TRUE', 'True']"
"""What Go reads as true."""
_OF_KIND: dict[str, tuple[Check, ...]] = {
    "batch/job": (
        Check(
            "!(variables.running && variables.was_running)"
            f" || ({annotation(COMPLETIONS_EQUAL_PARALLELISM)} in {_TRUE})"
            f" == ({annotation(COMPLETIONS_EQUAL_PARALLELISM, 'oldObject')} in {_TRUE})",
            f"metadata.annotations[{COMPLETIONS_EQUAL_PARALLELISM}] is immutable while the job is"
            " not suspended",
        ),
        Check(  # a start writes the number of pods together with its decision
            f"!variables.was_running || {annotation(MIN_PARALLELISM, 'oldObject')} == ''"
            " || object.spec.?parallelism.orValue(1) == oldObject.spec.?parallelism.orValue(1)"
            f" || {annotation(DECISION)} != {annotation(DECISION, 'oldObject')}",
            f"spec.parallelism is immutable while a job with [{MIN_PARALLELISM}] is not suspended",
        ),
    )
}
"""Checks that only one kind has, by its name."""
_KEPT = Check(
    f"{label(QUEUE_NAME)} != '' || {label(QUEUE_NAME, 'oldObject')} == ''",
    f"metadata.labels[{QUEUE_NAME}] may not be removed in a namespace"
    " that has a LocalQueue named default",
)
