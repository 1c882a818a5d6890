"""A pod template without what a start put into it."""

from __future__ import annotations

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.forming import copied, formed
from tidegate.jobs.templates.template import MAPS, Added, toleration_key


def restored(template: Object, note: Added) -> Object:
    """Return the template as it was before ``injected`` gave this note; ``template`` stays."""
    result = copied(formed(template))
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


def _restore_gates(result: Object, note: Added) -> None:
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
