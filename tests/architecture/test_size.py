"""The limits that no linter has: lines of a module, of a function, of a test, and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("tidegate", "ingest", "scheduler", "actuator", "store", "apiserver", "bench", "tests")
MODULE_LINES_MAX, FUNCTION_LINES_MAX, TEST_LINES_MAX = 300, 40, 25
NAMES_FORBIDDEN = {"utils", "helpers", "common", "base", "manager", "handler"}


def modules() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(node) is not None
    first = node.body[1] if documented and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or 0) - first.lineno + 1


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_module_has_one_purpose_said_in_its_first_line_and_fits_on_a_few_pages(
    path: Path,
) -> None:
    text = path.read_text()
    assert text.count("\n") <= MODULE_LINES_MAX
    assert (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].endswith((".", ":", "?"))
    assert path.stem not in NAMES_FORBIDDEN


@pytest.mark.parametrize("path", modules(), ids=label)
def test_a_function_can_be_read_at_a_glance(path: Path) -> None:
    limit = TEST_LINES_MAX if path.name.startswith("test_") else FUNCTION_LINES_MAX
    long = [f"{node.name}: {body_lines(node)}" for node in functions(path)]
    assert [told for told in long if int(told.rpartition(" ")[2]) > limit] == []


@pytest.mark.parametrize("path", modules(), ids=label)
def test_every_noqa_and_type_ignore_names_its_code(path: Path) -> None:
    if path == Path(__file__):
        return
    lines = path.read_text().splitlines()
    bare = [
        n for n, line in enumerate(lines, 1) if line.rstrip().endswith(("# noqa", "# type: ignore"))
    ]
    assert bare == []
