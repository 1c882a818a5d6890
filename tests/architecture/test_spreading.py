"""The names by which tests are spread over workers are names of tests, also after those moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parts.spreading import LONG

ROOT = Path(__file__).parents[2]
FILES = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}


@pytest.mark.parametrize("name", LONG)
def test_what_is_begun_first_is_there(name: str) -> None:
    assert any(file.startswith(name) for file in FILES)
