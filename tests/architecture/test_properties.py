"""Property tests draw the same in every run of CI: what a night finds is kept as an example."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(node).partition("(")[0] for node in node.decorator_list}


def test_every_property_says_how_much_it_draws() -> None:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    properties = {
        f"{path.name}: {node.name}": decorators(node)
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds) and "given" in decorators(node)
    }
    assert len(properties) > 20
    assert [name for name, names in properties.items() if "drawn" not in names] == []
