"""Patches: a document and a change to it give a new document."""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import msgspec

from apiserver.refusals import bad_request, unprocessable, wrong_media_type
from tidegate.kube.ports import JSON_PATCH, MERGE_PATCH

Object = dict[str, Any]
_OPERATIONS_MAX = 10_000  # the real server's bound
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


def apply_patch(document: Object, content_type: str, body: bytes, *, custom: bool) -> Object:
    """Return the document with a patch applied; it may be changed in place.

    Raises:
        RefusedError: 400, the patch cannot be read; 415, not a form of patch that is supported
            (custom resources have no strategic merge); 422, a JSON patch does not fit.
    """
    match content_type.partition(";")[0].strip():
        case "application/merge-patch+json":
            return _require_object(merge(document, _require_object(_decode_patch(body))))
        case "application/json-patch+json":
            return _require_object(_json_patch(document, _decode_patch(body)))
        case "application/strategic-merge-patch+json" if not custom:
            return strategic_merge(document, _require_object(_decode_patch(body)))
        case other:
            allowed = f"{JSON_PATCH}, {MERGE_PATCH}"
            raise wrong_media_type(f"{other!r}; the embedded server takes {allowed}")


def merge(document: object, patch: object) -> object:
    """Return what RFC 7386 makes of the two: null removes, objects merge, the rest replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _decode_patch(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from error


def _require_object(value: object) -> Object:
    if not isinstance(value, dict):
        raise bad_request(f"error decoding patch: expected an object, found {value!r:.40}")
    return value


def _json_patch(document: Object, operations: object) -> object:
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: expected a list of operations")
    if len(operations) > _OPERATIONS_MAX:
        raise bad_request(f"The allowed maximum operations in a JSON patch is {_OPERATIONS_MAX}")
    try:
        return jsonpatch.apply_patch(document, operations, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        raise unprocessable() from error


def strategic_merge(document: Object, patch: Object) -> Object:
    """Return a document with kubectl's strategic merge patch made: lists merge by a key.

    Directives beyond ``$patch: delete|replace``, ``$deleteFromPrimitiveList``, ``$retainKeys`` and
    the order of elements, which is kept as it is, are refused.

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
