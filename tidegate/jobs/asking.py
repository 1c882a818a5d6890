"""What every kind of job says in its metadata: who it is, its queue, its class, its limits."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs.kind import JobKind
from tidegate.jobs.names import workload_key
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.times import micros
from tidegate.model.numbers import INT32_MAX, whole

_QUEUE = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?")


def identified(kind: JobKind[Any], meta: ObjectMeta) -> JobObserved:
    """Return the observation of a job that is not managed: who it is, and nothing that changes."""
    return JobObserved(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        version=meta.version,
        session="",
        kind=kind.name,
        workload=workload_key(kind.kind, kind.group, meta.namespace, meta.name, meta.uid),
    )


def asked(kind: JobKind[Any], meta: ObjectMeta) -> JobObserved:
    """Return the observation of a managed job, as far as its metadata tells.

    Raises:
        UndecodableError: its time of creation is not a time, or a label's value has not the form
            that the API server's policies ask for.
        NotSupportedError: it asks for what is not built.
    """
    if meta.annotations.get(names.ELASTIC_JOB) == "true" and not kind.elastic:
        raise NotSupportedError(
            f"Jobs of the kind {kind.name} cannot be elastic: remove {names.ELASTIC_JOB}."
        )
    return msgspec.structs.replace(
        identified(kind, meta),
        queue=_queue(meta.labels.get(names.QUEUE_NAME, "")),
        priority_class=meta.labels.get(names.PRIORITY_CLASS, ""),
        created_us=micros(meta.creation_timestamp or ""),
        max_execution_s=_max_execution_s(meta.labels.get(names.MAX_EXECUTION_S)),
        author=meta.annotations.get(names.AUTHOR, ""),
        gates=listed(meta.annotations.get(names.ADMISSION_GATED_BY, "")),
        prebuilt=_prebuilt(meta),
    )


def _queue(name: str) -> str:
    if not _QUEUE.fullmatch(name):
        raise UndecodableError(f"label {names.QUEUE_NAME}: {name!r} is not the name of a queue.")
    return name


def _max_execution_s(text: str | None) -> int:
    seconds = positive(text or "")
    if text is not None and not seconds:
        raise UndecodableError(
            f"label {names.MAX_EXECUTION_S}: {text!r} is not a positive number of seconds."
        )
    return seconds


def positive(text: str) -> int:
    """Return the positive 32-bit number that a label or annotation says, else 0."""
    return whole(text, INT32_MAX) or 0


def listed(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _prebuilt(meta: ObjectMeta) -> str:
    """Return the name of the Workload that its owner made; a label is too short for some."""
    name = names.PREBUILT_WORKLOAD
    return meta.labels.get(name, "") or meta.annotations.get(name, "")
