"""Patches: a document and a change to it give a new document."""

from __future__ import annotations

from typing import Any

import jsonpatch
import jsonpointer
import msgspec

from apiserver.refusals import bad_request, unprocessable, wrong_media_type
from apiserver.requests.strategic import strategic_merge
from tidegate.kube.ports import JSON_PATCH, MERGE_PATCH

Object = dict[str, Any]
_OPERATIONS_MAX = 10_000  # the real server's bound


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
