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
        held = result.get(part, {}).get(name, {})
        for key in added:
            held.pop(key, None)
        if field in note.absent and not held:
            result.get(part, {}).pop(name, None)
        if part in note.absent and not result.get(part):
            result.pop(part, None)
    if note.replaced:
        result.setdefault("metadata", {}).setdefault("annotations", {}).update(note.replaced)
    tolerations = result.get("spec", {}).get("tolerations", [])
    for one in note.tolerations:
        _remove_last(tolerations, one)
    if "tolerations" in note.absent and not tolerations:
        result.get("spec", {}).pop("tolerations", None)
    _restore_gates(result, note)
    return result


def _restore_gates(result: Object, note: Added) -> None:
    held = result.get("spec", {}).get("schedulingGates", [])
    left = [one for one in held if one["name"] not in note.gates]
    if note.gates:
        result["spec"]["schedulingGates"] = left
    if "schedulingGates" in note.absent and not left:
        result.get("spec", {}).pop("schedulingGates", None)


def _remove_last(tolerations: list[Object], wanted: Object) -> None:
    for at in reversed(range(len(tolerations))):
        if toleration_key(tolerations[at]) == toleration_key(wanted):
            del tolerations[at]
            return
