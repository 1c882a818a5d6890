"""The page ``docs/reference/cli.md``: every command with its options, as ``--help`` says it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from typer.main import get_command

from tidegate.cli.program import build_app

_HEAD = """# The command line

<!-- Made by `make generate` from tidegate/cli: do not edit. -->

`tidegate COMMAND` and `kubectl tidegate COMMAND` are the same. Commands print results to standard
output and everything else to standard error. Exit codes: 0 success; 1 a check failed or the object
does not exist; 2 wrong usage; 3 a database, NATS or the API server cannot be reached.

`--output` takes `table`, `wide`, `json`, `yaml` and `name`. To name a workload, use its job:
`job/train`, or `job.batch/train` as `kubectl get -o name` prints it.
"""


class Page(NamedTuple):
    """One command."""

    path: str  # "queue list"
    command: Any  # click's


def listed_commands() -> list[Page]:
    """Return every command that is listed in help, groups before what they hold."""
    root = get_command(build_app())
    return list(_listed_below(root, ""))


def reference_page() -> str:
    """Return the page as Markdown."""
    pages = listed_commands()
    index = [
        f"- [`{entry.path}`](#{_anchor(entry.path)})" for entry in pages if not is_group(entry)
    ]
    return "\n".join(
        [_HEAD, *index, "", *(_command_section(entry) for entry in pages if not is_group(entry))]
    )


def help_and_examples(command: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - click's Command
    """Return what a command's help says, and its examples, one command line each."""
    message, _, examples = inspect.cleandoc(command.help or "").partition("\nExample")
    lines = [line.strip() for line in examples.partition(":")[2].splitlines() if line.strip()]
    return message.strip(), lines


def default_text(option: Any) -> str:  # noqa: ANN401 - click's Option
    """Return an option's default as one would write it; empty if nothing is worth telling."""
    default = option.default
    plain = isinstance(default, str | int | float) and default is not False
    return str(default) if plain else ""


def help_text(parameter: Any) -> str:  # noqa: ANN401 - click's Parameter
    """Return what is said of an argument or option, in one line."""
    return " ".join((parameter.help or "").split())


def is_group(entry: Page) -> bool:
    """Return whether a command only holds others."""
    return hasattr(entry.command, "list_commands")


def _listed_below(group: Any, path: str) -> Iterator[Page]:  # noqa: ANN401 - click's Group
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if command.hidden:
            continue
        entry = Page(f"{path} {name}".strip(), command)
        yield entry
        if is_group(entry):
            yield from _listed_below(command, entry.path)


def _command_section(entry: Page) -> str:
    message, example_lines = help_and_examples(entry.command)
    blocks = [
        f"## {entry.path}",
        message,
        _arguments_table(entry.command),
        _options_table(entry.command),
    ]
    if example_lines:
        blocks.append("\n".join(["```sh", *example_lines, "```"]))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _arguments_table(command: Any) -> str:  # noqa: ANN401 - click's Command
    rows = [
        f"| `{param.metavar or param.name.upper()}` | {_cell(param)} |"
        for param in command.params
        if param.param_type_name == "argument"
    ]
    return "\n".join(["| argument | |", "| --- | --- |", *rows]) if rows else ""


def _options_table(command: Any) -> str:  # noqa: ANN401 - click's Command
    rows = [
        f"| {_option_flags(param)} | {_quoted_default(param)} | {_cell(param)} |"
        for param in command.params
        if param.param_type_name == "option" and not param.hidden
    ]
    return "\n".join(["| option | default | |", "| --- | --- | --- |", *rows]) if rows else ""


def _option_flags(option: Any) -> str:  # noqa: ANN401 - click's Option
    return ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))


def _quoted_default(option: Any) -> str:  # noqa: ANN401 - click's Option
    if option.required:
        return "needed"
    default = default_text(option)
    return f"`{default}`" if default else ""


def _cell(parameter: Any) -> str:  # noqa: ANN401 - click's Parameter
    return help_text(parameter).replace("|", "\\|")


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
