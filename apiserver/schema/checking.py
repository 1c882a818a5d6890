"""Checking an object against a structural schema: types, bounds, enums, patterns, uniqueness.

CEL rules are not evaluated; see ``apiserver.limits``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeGuard

import msgspec

from apiserver.refusals import Cause, invalid_value, required, unsupported

Schema = dict[str, Any]
_Rule = Callable[[Schema, Any, str], Iterator[Cause]]
_INT32, _INT64 = 2**31, 2**63


def check_value(schema: Schema, value: object, path: str = "") -> Iterator[Cause]:
    """Yield each place where the value breaks the schema; ``path`` is where the value stands."""
    if value is None and schema.get("nullable"):
        return
    if not _has_type(schema, value):
        expected = schema.get("type", "integer or string")
        yield Cause(
            path,
            "FieldValueTypeInvalid",
            f'Invalid value: "{_type_name(value)}": {path} in body must be of type {expected}: '
            f'"{_type_name(value)}"',
        )
        return
    if "enum" in schema and value not in schema["enum"]:
        yield unsupported(path, value, schema["enum"])
    for kind, rule in _RULES:
        if isinstance(value, kind) and not isinstance(value, bool):
            yield from rule(schema, value, path)
    yield from _check_alternatives(schema, value, path)


def _has_type(schema: Schema, value: object) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    match schema.get("type"):
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_number(value) and float(value) == int(value)
        case "number":
            return _is_number(value)
        case _:
            return True


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type_name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Cause]:
    for key in schema.get("required") or ():
        if key not in value:
            yield required(_join_path(path, key))
    yield from _check_count(schema, "Properties", len(value), path, value)
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, child in value.items():
        if key in properties:
            yield from check_value(properties[key], child, _join_path(path, key))
        elif isinstance(others, dict):
            yield from check_value(others, child, _join_path(path, key))


def _check_list(schema: Schema, value: list[Any], path: str) -> Iterator[Cause]:
    yield from _check_count(schema, "Items", len(value), path, value)
    items = schema.get("items")
    if isinstance(items, dict):
        for i, item in enumerate(value):
            yield from check_value(items, item, f"{path}[{i}]")
    marks = set[bytes]()
    for i, item in enumerate(value):
        mark = _item_key(schema, item)
        if mark is not None and mark in marks:
            text = mark.decode()
            yield Cause(f"{path}[{i}]", "FieldValueDuplicate", f"Duplicate value: {text}")
        marks |= {mark} if mark is not None else set()


def _item_key(schema: Schema, item: object) -> bytes | None:
    match schema.get("x-kubernetes-list-type"):
        case "map" if isinstance(item, dict):
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            return msgspec.json.encode({key: item.get(key) for key in keys})
        case "set":
            return msgspec.json.encode(item, order="sorted")
        case _:
            unique = schema.get("uniqueItems")
            return msgspec.json.encode(item, order="sorted") if unique else None


def _check_text(schema: Schema, value: str, path: str) -> Iterator[Cause]:
    yield from _check_count(schema, "Length", len(value), path, value)
    pattern = schema.get("pattern")
    if pattern is not None and not _compiled_pattern(pattern).search(value):
        yield invalid_value(path, value, f"{path} in body should match '{pattern}'")
    if schema.get("format") == "date-time" and not _is_time(value):
        yield invalid_value(path, value, f"{path} in body must be of type date-time: {value!r}")


def _check_number(schema: Schema, value: float, path: str) -> Iterator[Cause]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        yield invalid_value(path, value, f"{path} in body should be greater than or equal to {low}")
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        yield invalid_value(path, value, f"{path} in body should be less than or equal to {high}")
    bound = {"int32": _INT32, "int64": _INT64}.get(schema.get("format", ""))
    if bound is not None and not -bound <= value < bound:
        yield invalid_value(path, value, f"{path} in body must be of type {schema['format']}")


def _check_count(
    schema: Schema, quantity: str, count: int, path: str, value: object
) -> Iterator[Cause]:
    low, high = schema.get(f"min{quantity}"), schema.get(f"max{quantity}")
    if low is not None and count < low:
        yield invalid_value(
            path, value, f"{path} in body should have at least {low} {quantity.lower()}"
        )
    if high is not None and count > high:
        words = f"Too long: may not be more than {high} {quantity.lower()}"
        yield Cause(path, "FieldValueTooLong", words)


def _check_alternatives(schema: Schema, value: object, path: str) -> Iterator[Cause]:
    for part in schema.get("allOf") or ():
        yield from check_value(part, value, path)
    for word, fits in (("anyOf", range(1, 1_000)), ("oneOf", range(1, 2))):
        parts = schema.get(word)
        if parts and sum(not any(check_value(part, value, path)) for part in parts) not in fits:
            yield invalid_value(path, value, f"{path} in body must validate {word} of the schemas")
    if "not" in schema and not any(check_value(schema["not"], value, path)):
        yield invalid_value(path, value, f"{path} in body must not validate the schema (not)")


def _join_path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


@lru_cache(maxsize=4_096)
def _compiled_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RULES: tuple[tuple[type | tuple[type, ...], _Rule], ...] = (
    (dict, _check_object),
    (list, _check_list),
    (str, _check_text),
    ((int, float), _check_number),
)
