"""docs/security.md lists every secret that a program is given, and a test that searches for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.test_secrets import SETTINGS
from tidegate.cli.objects.fetching import TOKEN
from tidegate.service.settings import PREFIX
from tidegate.urls import Secret

ROOT = Path(__file__).parents[2]
HEAD = "| secret | given in | searched for in | test |"
FILES = {f"{PREFIX}NATS_PASSWORD_FILE", f"{PREFIX}NATS_CREDENTIALS"}
"""Settings that name a file with a secret in it."""


def rows() -> list[list[str]]:
    """Return the cells of the table, a row each."""
    page = (ROOT / "docs" / "security.md").read_text()
    table = page.partition(HEAD)[2].strip().partition("\n\n")[0]
    return [row.strip("| ").split(" | ") for row in table.splitlines()[1:]]


def variables() -> Iterator[str]:
    """Yield the variables of the services' settings that hold a secret, or the path of one."""
    for kind in SETTINGS.values():
        settings = kind()
        for field in kind.__struct_fields__:
            if isinstance(getattr(settings, field), Secret):
                yield f"{PREFIX}{field.upper()}"


def test_no_setting_that_holds_a_secret_is_missing() -> None:
    given = {name for row in rows() for name in re.findall(r"`(TIDEGATE_\w+)`", row[1])}
    holding = set(variables())
    assert {f"{PREFIX}NATS_URL", f"{PREFIX}LEDGER", f"{PREFIX}API_TOKEN"} <= holding
    assert holding | FILES | {TOKEN} <= given


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_secret_is_searched_for_by_tests_that_name_it(row: list[str]) -> None:
    assert len(row) == 4
    texts = [(ROOT / name).read_text() for name in re.findall(r"`(tests/[\w/]+\.py)`", row[3])]
    assert texts
    for name in re.findall(r"`(TIDEGATE_\w+|--\w+)`", row[1]):
        spelled = (name, name.removeprefix(PREFIX).lower(), "TOKEN" if name == TOKEN else name)
        assert any(word in text for text in texts for word in spelled), name
