"""What the rules of this folder ask of a module's syntax, read once for all of them.

The tree itself takes a hundred times the memory, so it is not kept.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

_FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_DOTTED = re.compile(r"[\w.]+")


class Function(NamedTuple):
    """A function or a method."""

    name: str
    lines: int  # of its body, without the docstring
    names: frozenset[str]  # of its parameters and of the variables that are set in it
    decorators: frozenset[str]  # without their arguments


class Outline(NamedTuple):
    """A module."""

    first_line: str  # of its docstring
    functions: tuple[Function, ...]
    classes: tuple[str, ...]
    public: tuple[str, ...]  # functions and classes that other modules may use
    used: frozenset[str]  # names that are read
    imported: frozenset[str]  # modules, and what is taken of them
    texts: frozenset[str]  # constants that may be a module's name
    conversions: tuple[str, ...]  # calls of int with what may be a text


@cache
def outline(path: Path) -> Outline:
    """Read a module."""
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    calls = (node for node in nodes if isinstance(node, ast.Call) and _is_conversion(node))
    return Outline(
        first_line=(ast.get_docstring(tree) or "").partition("\n")[0],
        functions=tuple(_function(node) for node in nodes if isinstance(node, _FunctionNode)),
        classes=tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        public=tuple(
            node.name
            for node in tree.body
            if isinstance(node, _FunctionNode | ast.ClassDef) and not node.name.startswith("_")
        ),
        used=frozenset(name for node in nodes for name in _used(node)),
        imported=frozenset(name for node in nodes for name in _imported(node)),
        texts=frozenset(
            value for value in constants if isinstance(value, str) and _DOTTED.fullmatch(value)
        ),
        conversions=tuple(ast.unparse(node) for node in calls),
    )


def _function(node: _FunctionNode) -> Function:
    parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    below = (name for name in ast.walk(node) if isinstance(name, ast.Name))
    variables = (name.id for name in below if isinstance(name.ctx, ast.Store))
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return Function(
        name=node.name,
        lines=_body_lines(node),
        names=frozenset((*(parameter.arg for parameter in parameters), *variables)),
        decorators=frozenset(map(ast.unparse, called)),
    )


def _body_lines(node: _FunctionNode) -> int:
    documented = ast.get_docstring(node) is not None
    first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1


def _imported(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Import():
            return tuple(alias.name for alias in node.names)
        case ast.ImportFrom(module=str(module)):
            return (module, *(f"{module}.{alias.name}" for alias in node.names))
        case _:
            return ()


def _used(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            return (name,)
        case ast.ImportFrom():
            return tuple(alias.name for alias in node.names)
        case ast.Constant(value=str(text)) if text.isidentifier():
            return (text,)  # a name in a table
        case _:
            return ()


def _is_conversion(node: ast.Call) -> bool:
    is_int = isinstance(node.func, ast.Name) and node.func.id == "int"
    return is_int and bool(node.args) and not _is_a_truth(node.args[0])


def _is_a_truth(value: ast.expr) -> bool:
    asks = isinstance(value, ast.Call) and ast.unparse(value.func).startswith("is_")
    return asks or isinstance(value, ast.Compare | ast.BoolOp)
