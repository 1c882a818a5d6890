"""The limits that no linter has: lines of a module, of a function, of a test, and docstrings.

Each rule is one test that names every place: as a test for each module they were half of all tests.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from tests.architecture.syntax import outline

ROOT = Path(__file__).parents[2]
SERVICES = ("ingest", "scheduler", "actuator", "dispatcher")
ROOMS = ("tidegate", *SERVICES, "store", "apiserver", "bench", "tests")
MODULE_LINES_MAX, FUNCTION_LINES_MAX, TEST_LINES_MAX = 300, 40, 25
FOLDER_MODULES_MAX = 12
"""Of the product, beside ``__init__.py``."""
BESIDE = ("bench", "tests")
NAMES_FORBIDDEN = {"utils", "helpers", "common", "base", "manager", "handler"}


@cache
def modules() -> dict[Path, str]:
    """Return the text of every module."""
    paths = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    assert len(paths) > 1_000
    return {path: path.read_text() for path in paths}


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_module_fits_on_a_few_pages() -> None:
    lines = {label(path): text.count("\n") for path, text in modules().items()}
    assert {name: count for name, count in lines.items() if count > MODULE_LINES_MAX} == {}


def test_a_folder_is_read_at_a_glance() -> None:
    product = [path for path in modules() if path.relative_to(ROOT).parts[0] not in BESIDE]
    count = Counter(path.parent for path in product if path.name != "__init__.py")
    assert {label(path): n for path, n in count.items() if n > FOLDER_MODULES_MAX} == {}


def test_a_module_has_one_purpose_said_in_its_first_line_and_in_its_name() -> None:
    ends = (".", ":", "?")
    assert [label(path) for path in modules() if not outline(path).first_line.endswith(ends)] == []
    assert [label(path) for path in modules() if path.stem in NAMES_FORBIDDEN] == []


def test_a_function_can_be_read_at_a_glance() -> None:
    limits = {
        path: TEST_LINES_MAX if path.name.startswith("test_") else FUNCTION_LINES_MAX
        for path in modules()
    }
    long = [
        f"{label(path)}: {function.name}: {function.lines}"
        for path, limit in limits.items()
        for function in outline(path).functions
        if function.lines > limit
    ]
    assert long == []


def test_every_noqa_and_type_ignore_names_its_code() -> None:
    bare = [
        f"{label(path)}:{number}"
        for path, text in modules().items()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if line.rstrip().endswith(("# noqa", "# type: ignore"))
    ]
    assert bare == []
