"""The command line: one table of commands, and what their exit codes mean.

0 yes, or done; 1 no: what was asked for does not hold, or does not exist; 2 used wrongly; 3 a
database, a bus or an API server cannot be reached. Answers go to standard output, all else to
standard error.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import Annotated, Any

import typer

from tidegate.cli.lazy import WRONG_USE, Command, LazyGroup
from tidegate.cli.output import print_message
from tidegate.errors import (
    ApiUnreachableError,
    BusUnreachableError,
    LedgerUnreachableError,
    NotSupportedError,
    TidegateError,
)
from tidegate.urls import redacted

EXIT_NO, EXIT_USAGE, EXIT_UNREACHABLE = 1, 2, 3
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_UNREACHABLE = (LedgerUnreachableError, BusUnreachableError, ApiUnreachableError)


COMMANDS = (
    Command("why", "decisions.why", "why"),
    Command("why-not", "decisions.why_not", "why_not"),
    Command("what-if", "groups", "what_if"),
    Command("show", "groups", "show"),
    Command("topology", "topology", "app"),
    Command("clusters", "groups", "clusters"),
    Command("partitions", "groups", "partitions"),
    Command("drift", "drift", "drift"),
    Command("doctor", "doctor", "doctor"),
    Command("top", "top", "top"),
    Command("events", "events", "events"),
    Command("notify", "notify", "notify"),
    Command("report", "reporting.report", "report"),
    Command("reports", "reporting.reports", "app"),
    Command("statement", "reporting.statement", "app"),
    Command("replay", "decisions.replay", "replay"),
    Command("ledger", "groups", "ledger"),
    Command("shadow", "decisions.shadow", "shadow"),
    Command("serve", "tidegate.serve.command", "serve"),
    Command("guard", "tidegate.serve.visibility.guard", "guarding"),
    Command("webhook", "tidegate.webhook.command", "webhook"),
    Command("up", "local.up", "up"),
    Command("down", "local.up", "down"),
    Command("demo", "local.demo", "demo"),
    Command("cluster", "local.cluster", "app"),
    Command("manifests", "manifests", "manifests"),
    Command("stop", "stop", "stopping"),
    Command("resume", "stop", "resuming"),
)


class Commands(LazyGroup):
    """The commands; an error that we raise on purpose becomes a sentence and an exit code."""

    rows = COMMANDS

    def make_context(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as click has it
        """Parse the arguments; help and completion are written here."""
        with _explained_errors():
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as click has it
        """Run the command that was asked for."""
        with _explained_errors():
            return super().invoke(ctx)


@contextmanager
def _explained_errors() -> Generator[None]:
    try:
        yield
    except TidegateError as error:
        print_message(f"error: {redacted(str(error))}")
        from tidegate.cli.advice import advice  # noqa: PLC0415 - only after an error

        if to_do := advice(error):
            print_message(f"to do: {to_do}")
        raise typer.Exit(_exit_code(error)) from error
    except OSError as error:
        if not (error.filename or error.errno in _FULL):
            raise  # not about a file: a closed pipe is no error
        name = f"{error.filename}: " if error.filename else ""
        print_message(f"error: {name}{error.strerror}.")
        _discard_output()
        raise typer.Exit(EXIT_NO) from error
    except UnicodeEncodeError as error:  # an argument of bytes that are no text
        undecoded = ascii(error.object[error.start : error.end])
        print_message(f"error: {undecoded} cannot be written as {error.encoding}.")
        raise typer.Exit(EXIT_USAGE) from error
    except WRONG_USE as error:  # it quotes the argument, which may be a URL
        error.message = redacted(error.message)
        raise


def _discard_output() -> None:
    """Let what is buffered for the output lead nowhere: at the end of the process it is written."""
    with suppress(OSError):  # no file of the system
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)


def build_app() -> typer.Typer:
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
    sys.excepthook = _print_unexpected_error
    plugin = Path(sys.argv[0]).name == "kubectl-tidegate"
    build_app()(prog_name="kubectl tidegate" if plugin else None)


def _print_unexpected_error(
    kind: type[BaseException], error: BaseException, place: TracebackType | None
) -> None:
    """Print an unexpected error with URLs hidden: a library's message may quote one."""
    sys.stderr.write(redacted("".join(format_exception(kind, error, place))))


def _print_version(is_set: bool) -> None:  # noqa: FBT001 - as click calls it
    if is_set:
        from importlib.metadata import version  # noqa: PLC0415 - loads the reader of e-mail

        typer.echo(f"tidegate {version('tidegate')}")
        raise typer.Exit


def _root(
    *,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Batch admission for Kubernetes whose every decision is an event in a SQL ledger."""


def _exit_code(error: TidegateError) -> int:
    if isinstance(error, _UNREACHABLE):
        return EXIT_UNREACHABLE
    return EXIT_USAGE if isinstance(error, NotSupportedError) else EXIT_NO
