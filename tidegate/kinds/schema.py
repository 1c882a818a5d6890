"""Struct types to the structural schemas of CRDs.

A field whose default is not the zero of its type has that default at the API server too; a Struct
with such fields defaults to an empty object. Docstrings become descriptions.
"""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect as types

from tidegate.kinds.markers import NEEDED, Rule

Schema: TypeAlias = dict[str, Any]
_ZEROS: tuple[object, ...] = (None, "", 0, False, (), {})
_INT_OR_STRING = "x-kubernetes-int-or-string"
_KEEP_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def struct_schema(struct: type[msgspec.Struct], extra: dict[type, dict[str, Schema]]) -> Schema:
    """Return the schema of objects of this type.

    ``extra`` gives a type further properties, or further keywords for those it has: the older
    spellings. A class may have ``rules`` (CEL) and ``open`` (unknown fields are kept).
    """
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    schema: Schema = {"description": inspect.cleandoc(struct.__doc__ or ""), "type": "object"}
    needed = sorted(f.encode_name for f in info.fields if f.required or _is_required(f.type))
    if needed:
        schema["required"] = needed
    properties = {f.encode_name: _field(f, extra) for f in info.fields}
    schema["properties"] = _merge_properties(properties, extra.get(struct, {}))
    schema |= _extensions(struct)
    return schema


def has_defaults(struct: type[msgspec.Struct]) -> bool:
    """Return whether an empty object of this type is allowed and worth more than none."""
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    empty = not any(field.required or _is_required(field.type) for field in info.fields)
    return empty and any(_default(field) is not None for field in info.fields)


def _extensions(struct: type[msgspec.Struct]) -> Schema:
    rendered: Schema = {}
    rules: tuple[Rule, ...] = vars(struct).get("rules", ())
    if rules:
        rendered["x-kubernetes-validations"] = [msgspec.to_builtins(rule) for rule in rules]
    if vars(struct).get("open", False):
        rendered[_KEEP_UNKNOWN] = True
    return rendered


def _field(field: types.Field, extra: dict[type, dict[str, Schema]]) -> Schema:
    schema = _schema(field.type, extra)
    default = _default(field)
    return schema if default is None else schema | {"default": default}


def _default(field: types.Field) -> object:
    value = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or any(value is zero or value == zero for zero in _ZEROS):
        return None
    if isinstance(value, msgspec.Struct):
        return {} if has_defaults(type(value)) else None
    return value


def _is_required(kind: types.Type) -> bool:
    return isinstance(kind, types.Metadata) and NEEDED in (kind.extra_json_schema or {})


def _schema(kind: types.Type, extra: dict[type, dict[str, Schema]]) -> Schema:
    if isinstance(kind, types.Metadata):
        marks = {k: v for k, v in (kind.extra_json_schema or {}).items() if k != NEEDED}
        if marks.get(_INT_OR_STRING):
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], **marks}
        return _schema(kind.type, extra) | marks
    if isinstance(kind, types.UnionType):
        (only,) = [option for option in kind.types if not isinstance(option, types.NoneType)]
        return _schema(only, extra)
    return _collection(kind, extra) or _scalar(kind)


def _collection(kind: types.Type, extra: dict[type, dict[str, Schema]]) -> Schema | None:
    match kind:
        case types.StructType(cls=cls):
            return struct_schema(cls, extra)
        case types.VarTupleType(item_type=item):
            return {"type": "array", "items": _schema(item, extra)}
        case types.DictType(value_type=types.AnyType()):
            return {"type": "object", _KEEP_UNKNOWN: True}
        case types.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _schema(value, extra)}
        case _:
            return None


def _scalar(kind: types.Type) -> Schema:
    match kind:
        case types.StrType():
            return {"type": "string"}
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer"}
        case types.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case _:
            raise TypeError(f"{kind} has no place in a CRD.")


def _merge_properties(properties: dict[str, Schema], extra: dict[str, Schema]) -> dict[str, Schema]:
    merged = {name: schema | extra.get(name, {}) for name, schema in properties.items()}
    return merged | {name: schema for name, schema in extra.items() if name not in properties}
