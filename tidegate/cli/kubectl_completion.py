"""What ``kubectl_complete-tidegate`` answers: kubectl asks it what may follow a command."""

from __future__ import annotations

import os
import shlex
import sys

import typer

PROGRAM, VARIABLE = "tidegate", "_TIDEGATE_COMPLETE"
_NO_FILES = ":4"
"""What kubectl wants as the last line: do not offer the names of files instead."""


def answer_kubectl() -> None:
    """Print what may follow the arguments, one a line: what ``kubectl_complete-tidegate`` runs.

    The last argument is the word that is being written.
    """
    words = sys.argv[1:]
    asked = {"COMP_WORDS": shlex.join([PROGRAM, *words]), "COMP_CWORD": str(len(words))}
    try:
        _ask({VARIABLE: "complete_bash", **asked})
    finally:
        typer.echo(_NO_FILES)


def _ask(told: dict[str, str]) -> None:
    """Run the command line as a shell does that completes: it looks at variables, and exits."""
    from tidegate.cli.main import build  # noqa: PLC0415 - it loads this module as a command

    os.environ.update(told)
    try:
        build()(args=[], prog_name=PROGRAM)
    finally:
        for name in told:
            del os.environ[name]
