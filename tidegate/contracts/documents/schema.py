"""JSON Schema of every message on NATS, for other tools.

Generated from the unions, so that it cannot differ from the code. A field's meaning is its trailing
comment in the source.
"""

from __future__ import annotations

import ast
import inspect
import io
import textwrap
import tokenize
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias, get_args

import msgspec
from msgspec import inspect as types

from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.facts import Event, FactEvent
from tidegate.contracts.observations import Observation

Document: TypeAlias = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def facts() -> tuple[type[Event], ...]:
    """Return every fact's type, in the union's order."""
    return get_args(FactEvent)


def decisions() -> tuple[type[Event], ...]:
    """Return every decision's type, in the union's order."""
    return get_args(DecisionEvent)


def observations() -> tuple[type[msgspec.Struct], ...]:
    """Return every observation's type, in the union's order."""
    return get_args(Observation)


def tag_of(message: type[msgspec.Struct]) -> str:
    """Return the tag of a message's type, with its version, as in its bytes."""
    tag = message.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def name_of(message: type[msgspec.Struct]) -> str:
    """Return the name of a message's type without the version."""
    return tag_of(message).partition("/")[0]


def summary(message: type[msgspec.Struct]) -> str:
    """Return the first sentence of a type's docstring."""
    return inspect.cleandoc(message.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def subject_of(event: type[Event]) -> str:
    """Return the subject of a type's events; parts that the type lacks are ``_``."""
    fields = event.__struct_fields__
    queue = "{clusterQueue}" if "cluster_queue" in fields else "_"
    place = "{namespace}.{workload}" if "workload" in fields else "_._"
    return f"tidegate.{{cluster}}.event.{name_of(event)}.{queue}.{place}"


def json_schema(message: type[msgspec.Struct]) -> Document:
    """Return the JSON Schema of one message, complete in itself."""
    schema = msgspec.json.schema(message)
    schema["$defs"] = with_descriptions(schema["$defs"], [message])
    return {"$schema": DIALECT, "title": tag_of(message), **schema}


def with_descriptions(schemas: Document, roots: Iterable[type[msgspec.Struct]]) -> Document:
    """Return schemas by type name with the comments of the fields as descriptions.

    Docstrings lose their indentation, which they have in the source, but not in each Python.
    """
    merged = dict(schemas)
    for struct in _reachable_structs(roots):
        schema, comments = merged[struct.__name__], field_comments(struct)
        fields = {
            field: definition | ({"description": comments[field]} if field in comments else {})
            for field, definition in schema.get("properties", {}).items()
        }
        text = inspect.cleandoc(struct.__doc__ or "")
        merged[struct.__name__] = schema | {"description": text, "properties": fields}
    return merged


def _reachable_structs(roots: Iterable[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    structs: dict[type[msgspec.Struct], None] = {}
    waiting: list[types.Type] = [types.type_info(root) for root in roots]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, types.StructType) and kind.cls not in structs:
            structs[kind.cls] = None
            waiting += [field.type for field in kind.fields]
        waiting += _inner_types(kind)
    return list(structs)


def _inner_types(kind: types.Type) -> list[types.Type]:
    parts = [getattr(kind, name, None) for name in ("type", "item_type", "key_type", "value_type")]
    many = [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]
    return [inner for inner in (*parts, *many) if isinstance(inner, types.Type)]


def field_comments(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the trailing comment of each field that has one, inherited fields included."""
    comments: dict[str, str] = {}
    for owner in reversed(struct.__mro__):
        if issubclass(owner, msgspec.Struct) and owner is not msgspec.Struct:
            comments |= _own_comments(owner)
    return comments


@cache
def _own_comments(struct: type[msgspec.Struct]) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(struct))
    comments = _comments(source)
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: comments[node.end_lineno or node.lineno]
        for node in body.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and (node.end_lineno or node.lineno) in comments
    }


def _comments(source: str) -> dict[int, str]:
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
