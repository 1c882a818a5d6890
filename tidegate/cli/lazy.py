"""Groups of commands of which only the one that runs is imported; help is written from a table."""

from __future__ import annotations

from importlib import import_module
from textwrap import shorten
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

_COMMANDS = "tidegate.cli.commands"
WRONG_USE: Any = typer.BadParameter.__base__
"""click's UsageError, which typer does not name."""


class Command(NamedTuple):
    """A row of a table of commands."""

    name: str
    module: str  # below ``tidegate.cli.commands``, or its full name where it stands above the
    # command line; imported when the command is run, not before
    attribute: str  # a function, or an app of its own with sub-commands


class LazyGroup(TyperGroup):
    """A group whose commands are the rows of a table."""

    rows: ClassVar[tuple[Command, ...]] = ()
    path: ClassVar[str] = ""  # the group's own words; empty: the root

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as click has it
        """Return the names in the table's order."""
        return [command.name for command in self.rows]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as click has it
        """Load one command: a Kubernetes client or a database driver costs a second to import."""
        row = next((command for command in self.rows if command.name == cmd_name), None)
        return None if row is None else _load_command(row)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as click has it
        """Find the command that the arguments name; a misspelled one is refused with those like it.

        Raises:
            UsageError: there is none.
        """
        try:
            return super().resolve_command(ctx, args)
        except WRONG_USE as error:
            from difflib import get_close_matches  # noqa: PLC0415 - only after an error

            if alike := get_close_matches(args[0], [row.name for row in self.rows]):
                listed = " or ".join(repr(name) for name in alike)
                error.message = f"{error.message.removesuffix('.')}. Did you mean {listed}?"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - as click
        """Write the commands as the table for completion has them: none is loaded for it."""
        from tidegate.cli.completion.words import complete_word  # noqa: PLC0415 - reads the table

        width = formatter.width - 6 - max(len(command.name) for command in self.rows)
        about = dict(complete_word(self.path.split(), ""))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(row.name, _shorten_summary(about[row.name], width)) for row in self.rows]
            )


def command_group(path: str, about: str, *rows: Command) -> typer.Typer:
    """Return an app below the root whose commands are these rows."""
    cls = type("Rows", (LazyGroup,), {"rows": rows, "path": path})
    app = typer.Typer(cls=cls, no_args_is_help=True)

    def group() -> None:
        """Hold the commands: typer asks each group for one."""

    app.callback(help=about)(group)
    return app


def _load_command(row: Command) -> Any:  # noqa: ANN401 - click's Command or Group
    place = row.module if row.module.startswith("tidegate.") else f"{_COMMANDS}.{row.module}"
    loaded = getattr(import_module(place), row.attribute)
    if isinstance(loaded, typer.Typer):
        group = get_group(loaded)
        group.name = row.name
        return _print_help_as_text(group)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(row.name)(loaded)
    return _print_help_as_text(get_command(alone))


def _print_help_as_text(command: Any) -> Any:  # noqa: ANN401 - click's Command or Group
    """Let a command and all below it print help as text: rich takes longer than the command."""
    command.rich_markup_mode = None
    # Text is wrapped by paragraphs, and the first example must not run into its heading.
    command.help = (command.help or "").replace("Examples:\n", "Examples:\n\n")
    for inner in getattr(command, "commands", {}).values():
        _print_help_as_text(inner)
    return command


def _shorten_summary(text: str, width: int) -> str:
    return shorten(text.partition(". ")[0].removesuffix("."), width, placeholder="...")
