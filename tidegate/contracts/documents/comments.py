"""Reads the trailing comments of a Struct's fields, which document them.

A field's meaning is written only in the source; documents are generated from it.
"""

from __future__ import annotations

import ast
import inspect
import io
import textwrap
import tokenize
from functools import cache

import msgspec


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
