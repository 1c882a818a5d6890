"""Pruning and defaulting by a structural schema, as the real server does both on every write."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

Schema = dict[str, Any]
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_HEAD = ("apiVersion", "kind", "metadata")  # kept wherever an object stands


def prune(schema: Schema, value: object, path: str = "") -> list[str]:
    """Drop, in place, what the schema does not know, and return where it stood.

    Nulls that are not allowed go too, unless there is a default for ``fill`` to put there.
    """
    dropped = list[str]()
    _prune(schema, value, path, dropped)
    return dropped


def drop_nulls(value: object) -> None:
    """Drop, in place, every field that is null: to built-in kinds it is as if it were not there."""
    if isinstance(value, dict):
        for key in [key for key, child in value.items() if child is None]:
            del value[key]
    if isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            drop_nulls(child)


def _prune(schema: Schema, value: object, path: str, dropped: list[str]) -> None:
    if isinstance(value, list):
        for i, item in enumerate(value):
            _prune(schema.get("items") or {_PRESERVE: True}, item, f"{path}[{i}]", dropped)
    elif isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        head = _HEAD if not path or schema.get(_EMBEDDED) else ()
        # A schema may name the server's own fields, but cannot restrict them.
        for key in [key for key in value if key not in head]:
            at = f"{path}.{key}" if path else key
            if key in properties:
                _prune_field(properties[key], value, key, (at, dropped))
            elif isinstance(others, dict):
                _prune(others, value[key], at, dropped)
            elif not others and not schema.get(_PRESERVE):
                del value[key]
                dropped.append(at)


def set_defaults(schema: Schema, value: object) -> None:
    """Write, in place, the default of each field that is missing, at every depth."""
    if isinstance(value, list):
        _apply_to_each(set_defaults, schema.get("items"), value)
    elif isinstance(value, dict):
        properties = schema.get("properties") or {}
        for key, child in properties.items():
            if "default" in child and _is_missing(child, value, key):
                value[key] = deepcopy(child["default"])
            if key in value:
                set_defaults(child, value[key])
        _apply_to_each(
            set_defaults,
            schema.get("additionalProperties"),
            [v for k, v in value.items() if k not in properties],
        )


def _prune_field(
    schema: Schema, parent: dict[str, Any], key: str, schema_and_kept: tuple[str, list[str]]
) -> None:
    if parent[key] is None and not schema.get("nullable") and "default" not in schema:
        if not schema.get(_PRESERVE):
            del parent[key]
    else:
        _prune(schema, parent[key], *schema_and_kept)


def _is_missing(schema: Schema, parent: dict[str, Any], key: str) -> bool:
    return key not in parent or (parent[key] is None and not schema.get("nullable"))


def _apply_to_each(
    act: Callable[[Schema, object], None], schema: object, values: list[Any]
) -> None:
    if isinstance(schema, dict):
        for value in values:
            act(schema, value)
