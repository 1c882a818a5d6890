"""``tidegate completion``: the script that makes a shell complete; and kubectl's way to ask."""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from typing import Annotated

import typer

PROGRAM, VARIABLE = "tidegate", "_TIDEGATE_COMPLETE"
_NO_FILES = ":4"
"""What kubectl wants as the last line: do not offer the names of files instead."""


class Shell(StrEnum):
    """The shells that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the script that makes a shell complete commands and options.

    `kubectl tidegate` completes by itself where kubectl does: `kubectl_complete-tidegate`, which
    kubectl asks, is installed with the command.

    Examples:
      source <(tidegate completion bash)

      tidegate completion fish > ~/.config/fish/completions/tidegate.fish
    """
    _ask({VARIABLE: f"source_{shell}"})


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
