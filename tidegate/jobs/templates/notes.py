"""What a start notes on a job, its decision and what it added to a template; and how that goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object, decision_seq
from tidegate.jobs.templates.paths import value_at
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES

Note = TypeVar("Note")
MAPS = {
    "nodeSelector": ("spec", "nodeSelector"),
    "labels": ("metadata", "labels"),
    "annotations": ("metadata", "annotations"),
}
"""Where a template holds the maps that a start adds to."""


def decision_seq_of(job: Object, ledger_id: str) -> int:
    """Return the seq of the decision in a job's annotation; see ``decision_seq``."""
    return decision_seq(job["metadata"].get("annotations", {}).get(names.DECISION, ""), ledger_id)


def newest_decision_seq(job: Object, ledger_id: str) -> int:
    """Return the newest decision's seq in an object's annotation or conditions; 0: none."""
    listed = value_at(job, ("status", "conditions"))
    conditions = listed if isinstance(listed, list) else []
    ordered = [
        condition for condition in conditions if value_at(condition, ("type",)) == names.ORDERED
    ]
    texts = [value_at(condition, ("message",)) for condition in ordered]
    seqs = [decision_seq(text, ledger_id) for text in texts if isinstance(text, str)]
    return max(decision_seq_of(job, ledger_id), *seqs, 0)


def without_decision(job: Object) -> Object:
    """Return a copy of an object that bears no decision."""
    meta, status = dict(job["metadata"]), dict(job.get("status") or {})
    notes = meta.get("annotations", {})
    meta["annotations"] = {key: text for key, text in notes.items() if key != names.DECISION}
    conditions = status.get("conditions")
    if isinstance(conditions, list):
        others = [
            condition for condition in conditions if value_at(condition, ("type",)) != names.ORDERED
        ]
        status["conditions"] = others
    return {**job, "metadata": meta, **({"status": status} if "status" in job else {})}


def with_decision(job: Object, decision: str, note: object | None) -> Object:
    """Return a job with a decision on it, and with a note unless nothing was changed."""
    annotations = {**job["metadata"].get("annotations", {}), names.DECISION: decision}
    if note is not None:
        annotations[names.INJECTED] = msgspec.json.encode(note).decode()
    return {**job, "metadata": {**job["metadata"], "annotations": annotations}}


def before_start(
    job: Object,
    kind: type[Note],
    restored: Callable[[Object, Note], Object],
    derive: Callable[[], Note],
) -> Object:
    """Return a job as its owner wrote it; ``restored`` undoes what a note of this type records.

    Any user may edit the note. One that is malformed, or does not apply, counts as none: then
    what is ``derive`` of the start is undone.
    """
    written = job["metadata"].get("annotations", {}).get(names.INJECTED)
    if written is None:
        return job
    try:
        original = restored(job, msgspec.json.decode(written, type=kind))
    except (*FAILURES, UndecodableError):
        original = restored(job, derive())
    annotations = dict(job["metadata"]["annotations"])
    del annotations[names.INJECTED]
    return {**original, "metadata": {**job["metadata"], "annotations": annotations}}


class InjectedFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The additions of a start to one template."""

    node_selector: tuple[str, ...] = ()  # keys
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    gates: tuple[str, ...] = ()  # scheduling gates
    replaced: dict[str, str] = {}  # annotations of an earlier slice, as they were
    absent: tuple[str, ...] = ()  # fields that the template did not have at all


class _Gate(msgspec.Struct):
    name: str


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct):
    nodeSelector: dict[str, str] | None = None  # noqa: N815 - Kubernetes' name
    tolerations: list[dict[str, Any]] | None = None
    schedulingGates: list[_Gate] | None = None  # noqa: N815 - Kubernetes' name


class _Form(msgspec.Struct):
    """The fields of a template that a start reads; another project's schema may allow any JSON."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None


def deep_copy(value: Object) -> Object:
    """Return a deep copy of an object; it holds JSON only.

    Through bytes, since that is compiled: ``copy.deepcopy`` takes ten times as long.
    """
    return msgspec.json.decode(msgspec.json.encode(value), type=Object)


def without_nulls(template: Object) -> Object:
    """Return a template without fields that say null, which is nothing, where a start looks.

    Raises:
        UndecodableError: it has not the form of one.
    """
    try:
        msgspec.convert(template, _Form)
    except msgspec.ValidationError as error:
        raise UndecodableError(f"A pod template is none: {error}") from error
    result = {key: value for key, value in template.items() if value is not None}
    for part in ("metadata", "spec"):
        if part in result:
            items = result[part].items()
            result[part] = {key: value for key, value in items if value is not None}
    return result


def tolerated_taints(toleration: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a toleration is about, with its defaults filled in, however long it lasts."""
    operator = toleration.get("operator") or "Equal"
    return (operator, *(toleration.get(name) or None for name in ("key", "value", "effect")))


def toleration_key(toleration: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a toleration's identity, with its defaults filled in."""
    return (*tolerated_taints(toleration), toleration.get("tolerationSeconds") or None)


def without_injected(template: Object, note: InjectedFields) -> Object:
    """Return the template as it was before ``injected`` gave this note; ``template`` stays."""
    result = deep_copy(without_nulls(template))
    keys = (note.node_selector, note.labels, note.annotations)
    for (field, (part, name)), added in zip(MAPS.items(), keys, strict=True):
        fields = result.get(part, {}).get(name, {})
        for key in added:
            fields.pop(key, None)
        if field in note.absent and not fields:
            result.get(part, {}).pop(name, None)
        if part in note.absent and not result.get(part):
            result.pop(part, None)
    if note.replaced:
        result.setdefault("metadata", {}).setdefault("annotations", {}).update(note.replaced)
    tolerations = result.get("spec", {}).get("tolerations", [])
    for toleration in note.tolerations:
        _remove_last(tolerations, toleration)
    if "tolerations" in note.absent and not tolerations:
        result.get("spec", {}).pop("tolerations", None)
    _restore_gates(result, note)
    return result


def _restore_gates(result: Object, note: InjectedFields) -> None:
    gates = result.get("spec", {}).get("schedulingGates", [])
    remaining = [gate for gate in gates if gate["name"] not in note.gates]
    if note.gates:
        result["spec"]["schedulingGates"] = remaining
    if "schedulingGates" in note.absent and not remaining:
        result.get("spec", {}).pop("schedulingGates", None)


def _remove_last(tolerations: list[Object], toleration: Object) -> None:
    for at in reversed(range(len(tolerations))):
        if toleration_key(tolerations[at]) == toleration_key(toleration):
            del tolerations[at]
            return
