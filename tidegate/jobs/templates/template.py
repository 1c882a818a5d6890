"""Inject a start's fields into a pod template; a stop removes exactly these again.

What was added is noted on the job itself, so that undoing needs no other object. What was there
before, an equal value included, is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.notes import MAPS, InjectedFields, tolerated_taints, without_nulls
from tidegate.kinds import names
from tidegate.model.podset import Toleration


def conflicting_key(template: Object, start: PodSetStart) -> str:
    """Return in a sentence which key the template holds with another value; empty if none.

    Raises:
        UndecodableError: the template has not the form of one; so do all that follow.
    """
    template = without_nulls(template)
    for field, values in _maps_of_start(start).items():
        current = _map(template, field) or {}
        for key, value in values.items():
            if current.get(key, value) != value and not _is_of_slice(current, key):
                return (
                    f"podset {start.name}: {field} {key} is {current[key]}, and the assigned "
                    f"flavor asks for {value}."
                )
    return ""


def inject_start(template: Object, start: PodSetStart) -> tuple[Object, InjectedFields]:
    """Return the template with what a start adds, and the note of it; ``template`` stays."""
    template = without_nulls(template)
    result, noted, absent = template, dict[str, tuple[str, ...]](), list[str]()
    for field, values in _maps_of_start(start).items():
        current = _map(template, field)
        new = {key: value for key, value in values.items() if key not in (current or {})}
        if new:
            part, name = MAPS[field]
            absent += [part] if part not in result else []
            absent += [field] if current is None else []
            result = _with_part(result, part, name, {**(current or {}), **new})
        noted[field] = tuple(new)
    replaced = _replaced_annotations(template, start)
    if replaced:
        present = _map(result, "annotations") or {}
        new = {key: start.annotations[key] for key in replaced}
        result = _with_part(result, "metadata", "annotations", {**present, **new})
    held_tolerations = template.get("spec", {}).get("tolerations")
    tolerations = _new_tolerations(held_tolerations or [], start)
    if tolerations:
        result = _with_part(
            result, "spec", "tolerations", [*(held_tolerations or ()), *tolerations]
        )
        absent += ["tolerations"] if held_tolerations is None else []
    note = InjectedFields(
        node_selector=noted["nodeSelector"],
        labels=noted["labels"],
        annotations=noted["annotations"],
        tolerations=tuple(tolerations),
        absent=tuple(absent),
        replaced=replaced,
    )
    return with_gates(result, note, start.gates)


def derived_fields(template: Object, start: PodSetStart) -> InjectedFields:
    """Return the note of a start as far as the template still holds what the start gave.

    For want of a better one: what the owner had written himself, with an equal value, is taken
    for added as well.
    """
    template = without_nulls(template)
    added = {
        field: tuple(k for k, v in values.items() if (_map(template, field) or {}).get(k) == v)
        for field, values in _maps_of_start(start).items()
    }
    return InjectedFields(
        node_selector=added["nodeSelector"],
        labels=added["labels"],
        annotations=added["annotations"],
        tolerations=tuple(written_toleration(toleration) for toleration in start.tolerations),
        gates=start.gates,
        absent=("nodeSelector", "labels", "annotations", "tolerations", "schedulingGates"),
    )


def gated_start(start: PodSetStart, job: str = names.OF_CONTROLLER) -> PodSetStart:
    """Return what a podset of an elastic job is given: its pods wait behind a gate, and a label.

    ``job`` is the uid in the label, for pods whose controller is not the job itself.
    """
    labels = {**start.labels, names.ELASTIC_POD: job}
    gates = (*start.gates, names.ELASTIC_JOB)
    return msgspec.structs.replace(start, labels=labels, gates=gates)


def with_gates(
    template: Object, note: InjectedFields, gates: Iterable[str]
) -> tuple[Object, InjectedFields]:
    """Return a template, and the note of its start, with scheduling gates on its pods as well."""
    present = template.get("spec", {}).get("schedulingGates")
    gate_names = [gate["name"] for gate in present or ()]
    new = tuple(gate for gate in gates if gate not in gate_names)
    if not new:
        return template, note
    absent = note.absent if present is not None else (*note.absent, "schedulingGates")
    merged = [*(present or ()), *({"name": gate} for gate in new)]
    spec = {**template.get("spec", {}), "schedulingGates": merged}
    noted = msgspec.structs.replace(note, gates=(*note.gates, *new), absent=absent)
    return {**template, "spec": spec}, noted


def _is_of_slice(annotations: Mapping[str, str], key: str) -> bool:
    """Return whether Kueue named its Workload in a template that is one slice of an elastic job."""
    return names.SLICE_NAME in annotations and key in (names.SLICE_NAME, names.WORKLOAD)


def _replaced_annotations(template: Mapping[str, Any], start: PodSetStart) -> dict[str, str]:
    current = _map(template, "annotations") or {}
    return {
        key: current[key]
        for key, value in start.annotations.items()
        if key in current and current[key] != value and _is_of_slice(current, key)
    }


def _with_part(template: Object, part: str, name: str, value: object) -> Object:
    """Return a template with another value in it; the rest is shared, not copied."""
    return {**template, part: {**template.get(part, {}), name: value}}


def _maps_of_start(start: PodSetStart) -> dict[str, dict[str, str]]:
    return {
        "nodeSelector": start.node_selector,
        "labels": start.labels,
        "annotations": start.annotations,
    }


def _map(template: Mapping[str, Any], field: str) -> dict[str, str] | None:
    part, name = MAPS[field]
    current: dict[str, str] | None = template.get(part, {}).get(name)
    return current


def _new_tolerations(tolerations: list[Object], start: PodSetStart) -> list[Object]:
    """Return the tolerations that no other has: one that only lasts longer is the same."""
    new = [written_toleration(toleration) for toleration in start.tolerations]
    matches = [tolerated_taints(toleration) for toleration in (*tolerations, *new)]
    return [
        toleration
        for at, toleration in enumerate(new, len(tolerations))
        if matches[at] not in matches[:at]
    ]


def as_fields(start: PodSetStart) -> Object:
    """Return what a podset is given under the names that a pod's fields have, none if empty."""
    fields: Object = {
        "labels": start.labels,
        "annotations": start.annotations,
        "nodeSelector": start.node_selector,
        "tolerations": [written_toleration(toleration) for toleration in start.tolerations],
        "schedulingGates": [{"name": gate} for gate in start.gates],
    }
    return {name: value for name, value in fields.items() if value}


def as_template(start: PodSetStart) -> Object:
    """Return the assignment of a podset as a pod template with no other field."""
    fields = as_fields(start)
    meta = {name: fields.pop(name) for name in ("labels", "annotations") if name in fields}
    return {"metadata": meta, "spec": fields}


def written_toleration(toleration: Toleration) -> Object:
    """Return a toleration as Kubernetes writes it."""
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
        "tolerationSeconds": toleration.seconds,
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}
