"""docs/kueuectl.md against the command line: every command and option of the table is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tidegate.cli.program import build_app

PAGE = (Path(__file__).parents[2] / "docs" / "kueuectl.md").read_text()
ROW = re.compile(r"^\| `([^`]+)` \| `tidegate ([^`]+)` \| (.*) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)
ASKED = re.findall(r"^\| [^`|]+ \| `tidegate ([^`]+)` \|$", PAGE, re.MULTILINE)
VERBS = {"stop", "resume"}


def found(words: str) -> Any:  # noqa: ANN401 - click's Command
    """Return the command that these words call."""
    command: Any = get_command(build_app())
    for word in words.split():
        if not hasattr(command, "list_commands"):
            break
        command = command.get_command(None, word)
        assert command is not None, words
    assert not hasattr(command, "list_commands"), words
    return command


@pytest.mark.parametrize(("theirs", "ours", "what"), ROWS)
def test_a_command_of_the_table_has_the_options_it_names(theirs: str, ours: str, what: str) -> None:
    assert theirs.split(maxsplit=1)[0] == ours.split(maxsplit=1)[0]
    options = {name for param in found(ours).params for name in param.opts}
    assert set(re.findall(r"`(--[a-z-]+)", what)) <= options


@pytest.mark.parametrize("ours", ASKED)
def test_a_command_that_kueuectl_lacks_is_there(ours: str) -> None:
    found(ours)


def test_no_command_of_kueuectls_is_left_out() -> None:
    assert {theirs.split()[0] for theirs, _, _ in ROWS} == VERBS


def test_every_row_is_read() -> None:
    assert len(ROWS) == 6
    assert len(ASKED) == 11
