"""The table that completion answers from: every command's words, options and their values."""

from __future__ import annotations

import json
from typing import Any

from typer.main import get_command

from tidegate.cli.program import build_app
from tidegate.cli.reference import Page, help_and_examples, help_text, is_group, listed_commands

_HELP: dict[str, Any] = {
    "about": "Show this message and exit.",
    "takes": False,
    "many": False,
    "names": ["--help", "-h"],
    "choices": [],
}


def completion_table() -> dict[str, dict[str, Any]]:
    """Return the words that may follow each command, by its path ("queue list"; "" is the root)."""
    pages = [Page("", get_command(build_app())), *listed_commands()]
    return {
        page.path: {
            "commands": _subcommand_summaries(page.path, pages),
            "aliases": _command_aliases(page.command),
            **_parameter_records(page.command),
        }
        for page in pages
    }


def completion_table_text() -> str:
    """Return the table as it is kept in ``completion_words.json``."""
    return json.dumps(completion_table(), indent=1, ensure_ascii=False) + "\n"


def _subcommand_summaries(path: str, pages: list[Page]) -> dict[str, str]:
    inside = [page for page in pages if page.path and page.path.rpartition(" ")[0] == path]
    return {page.path.rpartition(" ")[2]: summary(page.command) for page in inside}


def _command_aliases(group: Any) -> dict[str, str]:  # noqa: ANN401 - click's Command
    """Return other names of a group's commands, which are not listed: they share the text."""
    if not is_group(Page("", group)):
        return {}
    inner = {name: group.get_command(None, name) for name in group.list_commands(None)}
    names = {
        inner_command.help: name
        for name, inner_command in inner.items()
        if not inner_command.hidden
    }
    return {
        name: names[inner_command.help]
        for name, inner_command in inner.items()
        if inner_command.hidden
    }


def summary(command: Any) -> str:  # noqa: ANN401 - click's Command
    """Return the first sentence of a command's help."""
    return " ".join(help_and_examples(command)[0].partition("\n\n")[0].split())


def _parameter_records(command: Any) -> dict[str, Any]:  # noqa: ANN401 - click's Command
    visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    options = [parameter for parameter in visible if parameter.param_type_name == "option"]
    return {
        "options": {
            name: _option_record(option)
            for option in options
            for name in (*option.opts, *option.secondary_opts)
        }
        | dict.fromkeys(command.context_settings.get("help_option_names", _HELP["names"]), _HELP),
        "arguments": [
            {"choices": _choices(parameter)}
            for parameter in visible
            if parameter.param_type_name == "argument"
        ],
    }


def _option_record(option: Any) -> dict[str, Any]:  # noqa: ANN401 - click's Option
    return {
        "about": help_text(option),
        "takes": not option.is_flag,
        "many": option.multiple,
        "names": [*option.opts, *option.secondary_opts],
        "choices": _choices(option),
    }


def _choices(parameter: Any) -> list[str]:  # noqa: ANN401 - click's Parameter
    kinds = getattr(parameter.type, "choices", None) or ()
    return [str(getattr(kind, "value", kind)) for kind in kinds]
