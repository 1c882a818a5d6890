"""A job's metadata, the same for every kind: identity, queue, priority class and limits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved, JobState, Stray
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs.gates import gate_names
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import PodTemplateSpec
from tidegate.kinds.times import micros
from tidegate.model.texts import INT32_MAX, bounded, is_name, parse_whole

_NAME_MAX = 253
_DIGITS = 5
AUTHOR_MAX, DECISION_MAX, MESSAGE_MAX = 512, 128, 1_024
CHECKPOINT_MAX, CHECKPOINT_EVERY_US = 64, 60_000_000
"""Characters of the time of a checkpoint, and how far apart two of a job that count are."""
_NEVER_PREBUILT = ("kubeflow.org/jaxjob",)
"""Kinds whose jobs cannot name a prebuilt Workload; behaviour.md 16."""
_QUEUE = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")


@lru_cache(maxsize=4_096)
def workload_name(kind: str, group: str, name: str, uid: str) -> str:
    """Return ``<kind lower>-<owner name>-<5 hex digits>``, at most 253 characters.

    Source: behaviour.md 15.3. The digits are of the owner's identity, so that a namesake made
    later, or one of another kind, has another Workload.
    """
    identity = f"{kind}\n{group}\n{name}\n{uid}".encode()
    digest = hashlib.sha1(identity, usedforsecurity=False).hexdigest()[:_DIGITS]
    prefix = f"{kind.lower()}-{name}"[: _NAME_MAX - _DIGITS - 1]
    return f"{prefix}-{digest}"


def workload_key(kind: str, group: str, namespace: str, name: str, uid: str) -> str:
    """Return ``<namespace>/<Workload's name>``, which is how decisions call it."""
    return f"{namespace}/{workload_name(kind, group, name, uid)}"


def unmanaged_job(kind: JobKind[Any], meta: ObjectMeta) -> JobObserved:
    """Return the observation of a job that is not managed: its identity only."""
    return JobObserved(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        version=meta.version,
        session="",
        kind=kind.name,
        workload=workload_key(kind.kind, kind.group, meta.namespace, meta.name, meta.uid),
    )


def managed_job(kind: JobKind[Any], meta: ObjectMeta) -> JobObserved:
    """Return the observation of a managed job with the fields that its metadata holds.

    Raises:
        UndecodableError: its time of creation is not a time, a label's value has not the form that
            the API server's policies ask for, or a name or a list is none, or too long.
        NotSupportedError: it asks for what is not built.
    """
    if is_elastic(meta.annotations) and not kind.elastic:
        raise NotSupportedError(
            f"Jobs of the kind {kind.name} cannot be elastic: remove {names.ELASTIC_JOB}."
        )
    return msgspec.structs.replace(
        unmanaged_job(kind, meta),
        queue=_queue(meta.labels.get(names.QUEUE_NAME, "")),
        priority_class=meta.labels.get(names.PRIORITY_CLASS, ""),
        created_us=micros(meta.creation_timestamp or ""),
        max_execution_s=_max_execution_s(meta.labels.get(names.MAX_EXECUTION_S)),
        author=author(meta),
        gates=gate_names(meta.annotations),
        prebuilt=_prebuilt(kind, meta),
    )


def _queue(name: str) -> str:
    if not _QUEUE.fullmatch(name):
        raise UndecodableError(f"label {names.QUEUE_NAME}: {name!r} is not the name of a queue.")
    return name


def _max_execution_s(text: str | None) -> int:
    seconds = positive_int32(text or "")
    if text is not None and not seconds:
        raise UndecodableError(
            f"label {names.MAX_EXECUTION_S}: {text!r} is not a positive number of seconds."
        )
    return seconds


def is_elastic(annotations: Mapping[str, str]) -> bool:
    """Return whether a job may grow and shrink while it runs."""
    return annotations.get(names.ELASTIC_JOB) == "true"


def has_gated_pods(labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
    """Return whether the pods of a job wait behind its gate until they are let go.

    An elastic job that a manager sent becomes larger only once that has been granted there.
    """
    return is_elastic(annotations) and not prebuilt_workload_name(labels, annotations)


def has_elastic_gate(template: PodTemplateSpec) -> bool:
    """Return whether a template has the scheduling gate of elastic jobs."""
    return any(gate.get("name") == names.ELASTIC_JOB for gate in template.spec.scheduling_gates)


def positive_int32(text: str) -> int:
    """Return the positive 32-bit number in a label or annotation, else 0."""
    return parse_whole(text, INT32_MAX) or 0


def author(meta: ObjectMeta) -> str:
    """Return the author of an object, from the annotation that the admission policy sets."""
    return bounded(meta.annotations.get(names.AUTHOR, ""), AUTHOR_MAX)


def decision(meta: ObjectMeta) -> str:
    """Return the decision in an object's annotation; one too long to be ours is none."""
    return valid_decision(meta.annotations.get(names.DECISION, ""))


def valid_decision(text: str) -> str:
    """Return a text that names a decision, empty if it is too long to be ours."""
    return text if len(text) <= DECISION_MAX and "\0" not in text else ""


def job_state(meta: ObjectMeta, *, suspended: bool, **standing: Any) -> JobState:  # noqa: ANN401 - fields of a JobState
    """Return the state of an object: from its metadata, and the fields that its kind read."""
    return JobState(
        suspended=suspended,
        deleting=meta.is_deleting,
        orphaning=meta.is_orphaning,
        decision=decision(meta),
        generation=meta.generation,
        injected=suspended and names.INJECTED in meta.annotations,
        checkpoint_us=_checkpoint_us(meta),
        **standing,
    )


def _checkpoint_us(meta: ObjectMeta) -> int:
    """Return the time of a job's last checkpoint, in whole minutes; 0 without a valid time."""
    text = meta.annotations.get(names.CHECKPOINT_AT, "")
    try:
        at_us = micros(text) if len(text) <= CHECKPOINT_MAX else 0
    except UndecodableError:
        return 0
    return max(0, at_us - at_us % CHECKPOINT_EVERY_US)


def stray_job(
    kind: JobKind[Any], meta: ObjectMeta, obj: Object, why: Stray, message: str
) -> JobObserved:
    """Return the observation of an object without a workload that must not run.

    A job that has ended runs no pods: nothing has to be stopped.
    """
    ended = kind.terminal_phase(obj)
    return msgspec.structs.replace(
        unmanaged_job(kind, meta),
        stray=None if ended else why,
        finished=ended,
        message=bounded(message, MESSAGE_MAX),
        state=kind.status_of(meta, obj),
    )


def prebuilt_workload_name(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return what names the Workload that a job's owner made; a label is too short for some."""
    return labels.get(names.PREBUILT_WORKLOAD, "") or annotations.get(names.PREBUILT_WORKLOAD, "")


def _prebuilt(kind: JobKind[Any], meta: ObjectMeta) -> str:
    """Return the same, if it may be the name of a Workload, and of one for such a job."""
    key = names.PREBUILT_WORKLOAD
    name = prebuilt_workload_name(meta.labels, meta.annotations)
    if name and kind.name in _NEVER_PREBUILT:
        raise NotSupportedError(
            f"Jobs of the kind {kind.name} have no prebuilt workloads: remove {key}."
        )
    if name and not is_name(name):
        raise UndecodableError(f"{key}: {name[:80]!r} is not the name of a Workload.")
    return name
