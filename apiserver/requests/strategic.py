"""The strategic merge patch of built-in kinds, which kubectl sends: lists merge by a key.

Directives beyond ``$patch: delete|replace``, ``$deleteFromPrimitiveList``, ``$retainKeys`` and the
order of elements, which is kept as it is, are refused.
"""

from __future__ import annotations

from typing import Any

from apiserver.refusals import bad_request

Object = dict[str, Any]

_KEYS = {  # a field that is a list -> the merge key of its elements
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_SETS = ("finalizers",)  # lists of plain values that merge
_DELETE, _ORDER, _RETAIN = "$deleteFromPrimitiveList/", "$setElementOrder/", "$retainKeys"


def strategic_merge(document: Object, patch: Object) -> Object:
    """Return a document with a patch merged into it.

    Raises:
        RefusedError: 400, the patch has a directive that is not supported.
    """
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    merged = dict(document)
    if _RETAIN in patch:
        merged = {key: value for key, value in merged.items() if key in patch[_RETAIN]}
    for key, value in patch.items():
        _merge_field(merged, key, value)
    return merged


def _merge_field(merged: Object, key: str, value: object) -> None:
    if key.startswith(_DELETE):
        field = key.removeprefix(_DELETE)
        merged[field] = [x for x in merged.get(field) or [] if x not in _as_list(value)]
    elif key.startswith(_ORDER) or key == _RETAIN:
        return
    elif key.startswith("$"):
        raise bad_request(f"the embedded server does not know the directive {key!r}")
    elif value is None:
        merged.pop(key, None)
    else:
        merged[key] = _merged_value(key, merged.get(key), value)


def _merged_value(key: str, old: object, new: object) -> object:
    if isinstance(new, dict):
        return strategic_merge(old if isinstance(old, dict) else {}, new)
    if isinstance(new, list) and isinstance(old, list):
        if key in _SETS:
            return [*old, *(value for value in new if value not in old)]
        if key in _KEYS and all(isinstance(value, dict) for value in [*old, *new]):
            return _merge_list(_KEYS[key], old, new)
    if isinstance(new, list):
        return [_merged_value("", None, value) for value in new]
    return new


def _merge_list(keys: tuple[str, ...], old: list[Object], new: list[Object]) -> list[Object]:
    merged = list(old)
    for element in new:
        if element == {"$patch": "replace"}:
            return [value for value in new if value is not element]
        at = next(
            (i for i, value in enumerate(merged) if _is_same_element(keys, value, element)), None
        )
        if element.get("$patch") == "delete":
            merged = [value for i, value in enumerate(merged) if i != at]
        elif at is None:
            merged.append(strategic_merge({}, element))
        else:
            merged[at] = strategic_merge(merged[at], element)
    return merged


def _is_same_element(keys: tuple[str, ...], item: Object, other: Object) -> bool:
    return any(key in other and item.get(key) == other[key] for key in keys)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
