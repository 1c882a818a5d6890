"""Every command helps: a sentence, and an example that it would understand."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from typer.main import get_command

from tidegate.cli.commands.local.demo import closing_commands
from tidegate.cli.instance import Instance
from tidegate.cli.program import build_app
from tidegate.cli.reference import Page, listed_commands, reference_page

PAGES = [command for command in listed_commands() if not hasattr(command.command, "list_commands")]


@pytest.mark.parametrize("actual_page", PAGES, ids=lambda reference: reference.path)
def test_every_command_has_a_sentence_and_an_example(actual_page: Page) -> None:
    value = actual_page.command.help or ""
    assert value.strip(), actual_page.path
    assert "Example" in value, actual_page.path
    assert "tidegate " in value.partition("Example")[2], actual_page.path


@pytest.mark.parametrize("actual_page", PAGES, ids=lambda reference: reference.path)
def test_every_example_is_understood(actual_page: Page) -> None:
    lines = [line.strip() for line in (actual_page.command.help or "").splitlines()]
    for line in lines:
        if line.startswith("tidegate "):
            understand(line)


def understand(line: str) -> None:
    """Let the command line read an example up to a pipe; nothing is run."""
    words = shlex.split(line, comments=False)[1:]
    end = next((at for at, word in enumerate(words) if word in {"|", ">", "&&", ";"}), len(words))
    read(get_command(build_app()), None, words[:end])


def read(command: Any, above: Any, words: list[str]) -> None:  # noqa: ANN401 - click's
    context = command.make_context("tidegate", list(words), parent=above)
    with context:
        if hasattr(command, "list_commands"):
            rest = [*context._protected_args, *context.args]  # noqa: SLF001 - click tells no other way
            _, inner, left = command.resolve_command(context, rest)
            read(inner, context, left)


def test_the_page_has_every_command_once() -> None:
    lines = reference_page().splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        f"## {candidate_page.path}" for candidate_page in PAGES
    ]


def test_the_commands_that_the_demo_ends_with_are_understood() -> None:
    instance = Instance(ledger="sqlite:///ledger.db", nats_url="nats://127.0.0.1:4222", pid=1)
    for command in closing_commands(instance):
        understand(shlex.join(("tidegate", *command)))
