"""Pages that show commands: each is run where the page says, and prints what the page shows.

In a block ``console`` a line that begins with ``$ `` is a command, and what follows is what it
prints, standard error last. A block ``yaml NAME`` is a file. ``REWRITE=1`` writes the answers anew.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tidegate.cli.program import build_app

DOCS = Path(__file__).parents[2] / "docs"
PEOPLE = ("operator", "scientist", "finance", "auditor")
PAGES = (
    "tutorials/complaint.md",
    "replay.md",
    "looking.md",
    *(f"people/{text}.md" for text in PEOPLE),
)
BLOCK = re.compile(r"^```(console|yaml [^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
HASH = re.compile(r"\b[0-9a-f]{64}\b")


def played(block: str, run: Callable[[list[str]], str]) -> str:
    """Return a block as it reads when its commands are run."""
    lines = list[str]()
    for command in COMMAND.findall(block):
        lines.append(f"$ {command}\n")
        lines.append(run(shlex.split(command)))
    return "".join(lines)


def page_text(result: Result, folder: Path) -> str:
    out = (result.stdout + result.stderr).replace(f"{folder}/", "/here/")
    return HASH.sub("…", out) + (f"exit code {result.exit_code}\n" if result.exit_code else "")


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows_is_what_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEGATE_STATE", str(tmp_path / "state"))
    page = (DOCS / name).read_text()

    def run(words: list[str]) -> str:
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            return ""
        assert words[0] == "tidegate"
        return page_text(CliRunner().invoke(build_app(), words[1:]), tmp_path)

    def shown(match: re.Match[str]) -> str:
        kind, block = match[1], match[2]
        if kind.startswith("yaml "):
            Path(kind.removeprefix("yaml ")).write_text(block)
            return match[0]
        return f"```console\n{played(block, run)}```"

    again = BLOCK.sub(shown, page)
    if os.environ.get("REWRITE"):
        (DOCS / name).write_text(again)
    assert (DOCS / name).read_text() == again
    assert len(COMMAND.findall(page)) > 3
