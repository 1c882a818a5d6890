"""CONTRIBUTING.md against the tree: files, folders, targets and names that it sends people to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted({path for path in re.findall(r"`([\w./-]+/[\w./-]+)`", PAGE) if "Name/" not in path})
LINKS = sorted(set(re.findall(r"\]\(([^)#]+)\)", PAGE)))
TARGETS = sorted(set(re.findall(r"`make (\w+)`", PAGE)))
NAMES = sorted(set(re.findall(r"`([A-Z_]{5,})` of `([\w./]+)`", PAGE)))


@pytest.mark.parametrize("path", sorted({*PATHS, *LINKS}))
def test_what_a_recipe_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_one_of_the_makefile(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("name", "path"), NAMES)
def test_a_table_that_a_row_goes_into_is_there(name: str, path: str) -> None:
    assert re.search(rf"^(?:export const )?{name}\b", (ROOT / path).read_text(), re.MULTILINE)


def test_the_tests_that_write_are_those_that_make_asks_to() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    [rewritten] = re.findall(r"^REWRITTEN = (.*)$", makefile, re.MULTILINE)
    asked = rewritten.split()
    writing = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if 'environ.get("REWRITE")' in path.read_text() and path != Path(__file__)
    ]
    assert sorted(asked) == sorted(writing)
