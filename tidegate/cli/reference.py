"""The page ``docs/reference/cli.md``: every command with its options, as ``--help`` says it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from typer.main import get_command

from tidegate.cli.program import build

_HEAD = """# The command line

<!-- Made by `make generate` from tidegate/cli: do not edit. -->

`tidegate COMMAND`, and `kubectl tidegate COMMAND`, which is the same. Answers go to standard
output, all else to standard error. Exit codes: 0 yes, or done; 1 no: it does not hold, or does not
exist; 2 used wrongly; 3 a database, a bus or an API server cannot be reached.

`--output` takes `table`, `wide`, `json`, `yaml` and `name`. Where a workload is asked for, the
user's own object does: `job/train`.
"""


class Page(NamedTuple):
    """One command."""

    path: str  # "queue list"
    command: Any  # click's


def commands() -> list[Page]:
    """Return every command that is listed in help, groups before what they hold."""
    root = get_command(build())
    return list(_below(root, ""))


def page() -> str:
    """Return the page as Markdown."""
    found = commands()
    index = [f"- [`{one.path}`](#{_anchor(one.path)})" for one in found if not is_group(one)]
    return "\n".join([_HEAD, *index, "", *(_section(one) for one in found if not is_group(one))])


def parted(command: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - click's Command
    """Return what a command's help says, and its examples, one command line each."""
    said, _, examples = inspect.cleandoc(command.help or "").partition("\nExample")
    shown = [line.strip() for line in examples.partition(":")[2].splitlines() if line.strip()]
    return said.strip(), shown


def default_of(option: Any) -> str:  # noqa: ANN401 - click's Option
    """Return an option's default as one would write it; empty if nothing is worth telling."""
    given = option.default
    plain = isinstance(given, str | int | float) and given is not False
    return str(given) if plain else ""


def help_of(parameter: Any) -> str:  # noqa: ANN401 - click's Parameter
    """Return what is said of an argument or option, in one line."""
    return " ".join((parameter.help or "").split())


def is_group(one: Page) -> bool:
    """Tell whether a command only holds others."""
    return hasattr(one.command, "list_commands")


def _below(group: Any, path: str) -> Iterator[Page]:  # noqa: ANN401 - click's Group
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if command.hidden:
            continue
        found = Page(f"{path} {name}".strip(), command)
        yield found
        if is_group(found):
            yield from _below(command, found.path)


def _section(one: Page) -> str:
    said, shown = parted(one.command)
    blocks = [f"## {one.path}", said, _arguments(one.command), _options(one.command)]
    if shown:
        blocks.append("\n".join(["```sh", *shown, "```"]))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _arguments(command: Any) -> str:  # noqa: ANN401 - click's Command
    rows = [
        f"| `{one.metavar or one.name.upper()}` | {_cell(one)} |"
        for one in command.params
        if one.param_type_name == "argument"
    ]
    return "\n".join(["| argument | |", "| --- | --- |", *rows]) if rows else ""


def _options(command: Any) -> str:  # noqa: ANN401 - click's Command
    rows = [
        f"| {_spelled(one)} | {_quoted(one)} | {_cell(one)} |"
        for one in command.params
        if one.param_type_name == "option" and not one.hidden
    ]
    return "\n".join(["| option | default | |", "| --- | --- | --- |", *rows]) if rows else ""


def _spelled(option: Any) -> str:  # noqa: ANN401 - click's Option
    return ", ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))


def _quoted(option: Any) -> str:  # noqa: ANN401 - click's Option
    if option.required:
        return "needed"
    given = default_of(option)
    return f"`{given}`" if given else ""


def _cell(parameter: Any) -> str:  # noqa: ANN401 - click's Parameter
    return help_of(parameter).replace("|", "\\|")


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
