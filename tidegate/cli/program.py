"""The command line: one table of commands, and what their exit codes mean.

0 yes, or done; 1 no: what was asked for does not hold, or does not exist; 2 used wrongly; 3 a
database, a bus or an API server cannot be reached. Answers go to standard output, all else to
standard error.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from traceback import format_exception
from types import TracebackType
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from tidegate.cli.completion.words import offered
from tidegate.cli.output import say
from tidegate.errors import (
    ApiUnreachableError,
    BusUnreachableError,
    LedgerUnreachableError,
    NotSupportedError,
    TidegateError,
)
from tidegate.urls import shown

NO, USED_WRONGLY, UNREACHABLE = 1, 2, 3
_WRONG_USE: Any = typer.BadParameter.__base__  # click's UsageError, which typer does not name
_COMMANDS = "tidegate.cli.commands"
_UNREACHABLE = (LedgerUnreachableError, BusUnreachableError, ApiUnreachableError)


class Command(NamedTuple):
    """A row of the table of commands."""

    name: str
    module: str  # below ``tidegate.cli.commands``, or its full name where it stands above the
    # command line; imported when the command is run, not before
    attribute: str  # a function, or an app of its own with sub-commands


COMMANDS = (
    Command("why", "decisions.why", "why"),
    Command("why-not", "decisions.why_not", "why_not"),
    Command("what-if", "decisions.what_if", "what_if"),
    Command("simulate", "decisions.simulate", "simulate"),
    Command("submit", "decisions.submit", "submit"),
    Command("show", "show.app", "app"),
    Command("topology", "topology", "app"),
    Command("drift", "drift", "drift"),
    Command("doctor", "doctor", "doctor"),
    Command("top", "top", "top"),
    Command("events", "events", "events"),
    Command("notify", "notify", "notify"),
    Command("report", "report", "report"),
    Command("reports", "reports", "app"),
    Command("statement", "statement", "app"),
    Command("replay", "decisions.replay", "replay"),
    Command("ledger", "ledger.app", "app"),
    Command("shadow", "decisions.shadow", "shadow"),
    Command("serve", "tidegate.serve.command", "serve"),
    Command("webhook", "tidegate.webhook.command", "webhook"),
    Command("up", "local.up", "up"),
    Command("down", "local.up", "down"),
    Command("demo", "local.demo", "demo"),
    Command("cluster", "local.cluster", "app"),
    Command("manifests", "manifests", "manifests"),
    Command("stop", "stop", "stopping"),
    Command("resume", "stop", "resuming"),
)


class Commands(TyperGroup):
    """The commands; an error that we raise on purpose becomes a sentence and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as click has it
        """Return the names in the table's order."""
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as click has it
        """Load one command: a Kubernetes client or a database driver costs a second to import."""
        row = next((command for command in COMMANDS if command.name == cmd_name), None)
        return None if row is None else _load(row)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - as click
        """Write the commands as the table for completion has them: none is loaded for it."""
        width = formatter.width - 6 - max(len(command.name) for command in COMMANDS)
        said = dict(offered([], ""))
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, _shortened(said[row.name], width)) for row in COMMANDS])

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as click has it
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except TidegateError as error:
            say(f"error: {shown(str(error))}")
            from tidegate.cli.advice import advice  # noqa: PLC0415 - only after an error

            if to_do := advice(error):
                say(f"to do: {to_do}")
            raise typer.Exit(_exit_code(error)) from error
        except _WRONG_USE as error:  # it quotes the argument, which may be a URL
            error.message = shown(error.message)
            raise


def build() -> typer.Typer:
    """Return the app with every command of the table."""
    app = typer.Typer(
        name="tidegate",
        cls=Commands,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    return app


def run() -> None:
    """Run the command line of this process."""
    sys.excepthook = _tell
    plugin = Path(sys.argv[0]).name == "kubectl-tidegate"
    build()(prog_name="kubectl tidegate" if plugin else None)


def _tell(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    """Print an error that nobody expected: a library's sentence may quote a URL."""
    sys.stderr.write(shown("".join(format_exception(kind, error, place))))


def _tell_version(asked: bool) -> None:  # noqa: FBT001 - as click calls it
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - loads the reader of e-mail

        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


def _root(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_tell_version
        ),
    ] = False,
) -> None:
    """Batch admission for Kubernetes whose every decision is an event in a SQL ledger."""


def _load(row: Command) -> Any:  # noqa: ANN401 - click's Command or Group
    place = row.module if row.module.startswith("tidegate.") else f"{_COMMANDS}.{row.module}"
    loaded = getattr(import_module(place), row.attribute)
    if isinstance(loaded, typer.Typer):
        group = get_group(loaded)
        group.name = row.name
        return _plain(group)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(row.name)(loaded)
    return _plain(get_command(alone))


def _plain(command: Any) -> Any:  # noqa: ANN401 - click's Command or Group
    """Let a command and all below it print help as text: rich takes longer than the command."""
    command.rich_markup_mode = None
    # Text is wrapped by paragraphs, and the first example must not run into its heading.
    command.help = (command.help or "").replace("Examples:\n", "Examples:\n\n")
    for inner in getattr(command, "commands", {}).values():
        _plain(inner)
    return command


def _shortened(text: str, width: int) -> str:
    return shorten(text.partition(". ")[0].removesuffix("."), width, placeholder="...")


def _exit_code(error: TidegateError) -> int:
    if isinstance(error, _UNREACHABLE):
        return UNREACHABLE
    return USED_WRONGLY if isinstance(error, NotSupportedError) else NO
