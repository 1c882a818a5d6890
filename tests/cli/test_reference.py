"""Every command helps: a sentence, and an example that it would understand."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from typer.main import get_command

from tidegate.cli.commands.local.demo import shown_at_the_end
from tidegate.cli.instance import Instance
from tidegate.cli.program import build
from tidegate.cli.reference import Page, commands, page

PAGES = [one for one in commands() if not hasattr(one.command, "list_commands")]


@pytest.mark.parametrize("one", PAGES, ids=lambda one: one.path)
def test_every_command_has_a_sentence_and_an_example(one: Page) -> None:
    said = one.command.help or ""
    assert said.strip(), one.path
    assert "Example" in said, one.path
    assert "tidegate " in said.partition("Example")[2], one.path


@pytest.mark.parametrize("one", PAGES, ids=lambda one: one.path)
def test_every_example_is_understood(one: Page) -> None:
    lines = [line.strip() for line in (one.command.help or "").splitlines()]
    for line in lines:
        if line.startswith("tidegate "):
            understand(line)


def understand(line: str) -> None:
    """Let the command line read an example up to a pipe; nothing is run."""
    words = shlex.split(line, comments=False)[1:]
    end = next((at for at, word in enumerate(words) if word in {"|", ">", "&&", ";"}), len(words))
    read(get_command(build()), None, words[:end])


def read(command: Any, above: Any, words: list[str]) -> None:  # noqa: ANN401 - click's
    context = command.make_context("tidegate", list(words), parent=above)
    with context:
        if hasattr(command, "list_commands"):
            rest = [*context._protected_args, *context.args]  # noqa: SLF001 - click tells no other way
            _, inner, left = command.resolve_command(context, rest)
            read(inner, context, left)


def test_the_page_has_every_command_once() -> None:
    told = page().splitlines()
    assert [line for line in told if line.startswith("## ")] == [f"## {one.path}" for one in PAGES]


def test_the_commands_that_the_demo_ends_with_are_understood() -> None:
    instance = Instance(ledger="sqlite:///ledger.db", nats_url="nats://127.0.0.1:4222", pid=1)
    for command in shown_at_the_end(instance):
        understand(shlex.join(("tidegate", *command)))
