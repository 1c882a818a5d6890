"""The entry point of the console scripts: completion is answered from a table, all else is run.

Imports only what an answer needs: completion must respond at once when a user presses TAB.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tidegate.cli.completion.words import (
    KUBECTL_NO_FILES,
    PROGRAM,
    VARIABLE,
    bash_environment,
    reply_to_shell,
)


def main() -> None:
    """Run the command line: what the console scripts call, kubectl's plugin among them."""
    _replace_closed_streams()
    if (instruction := os.environ.get(VARIABLE, "")).startswith("complete_"):
        answered = reply_to_shell(instruction.removeprefix("complete_"), os.environ)
        sys.stdout.write(answered.text)
        sys.exit(answered.exit_code)
    from tidegate.cli.program import run  # noqa: PLC0415 - loads typer, which a TAB does without

    run()


def print_kubectl_completions() -> None:
    """Print what may follow the arguments, one a line: what ``kubectl_complete-tidegate`` runs.

    The last argument is the word that is being written.
    """
    fields = bash_environment([PROGRAM, *sys.argv[1:]])
    sys.stdout.write(f"{reply_to_shell('bash', fields).text}{KUBECTL_NO_FILES}\n")


def _replace_closed_streams() -> None:
    """Let streams that are closed (``>&-``) lead nowhere; else the next file takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it stays open
            setattr(sys, name, nowhere)


if __name__ == "__main__":
    main()
