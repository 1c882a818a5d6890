"""Completes a command line, answered from ``completion_words.json`` to bash, zsh and fish.

The table is made of the commands by `make generate`; to ask the commands themselves would import
all of them. The variables and the forms of the answers are those of typer's completion scripts.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

PROGRAM, VARIABLE = "tidegate", "_TIDEGATE_COMPLETE"
KUBECTL_NO_FILES = ":4"
"""What kubectl wants as the last line: do not offer the names of files instead."""
TABLE = Path(__file__).with_name("completion_words.json")

CommandTable: TypeAlias = dict[str, dict[str, Any]]  # by a command's path: see completion_table
Completions: TypeAlias = list[tuple[str, str]]  # words, each with what is said of it


class ShellReply(NamedTuple):
    """The completions that a shell gets."""

    text: str
    exit_code: int = 0


class _CursorContext(NamedTuple):
    """The point that a command line has reached: its command, and what may follow."""

    path: str  # the command, e.g. "queue list"
    given: frozenset[str]  # options
    awaits: str  # the option whose value comes next; empty: none
    arguments: int  # how many were given


def reply_to_shell(shell: str, environ: Mapping[str, str]) -> ShellReply:
    """Answer a completing shell: ``environ`` are its variables; an unknown one gets nothing."""
    match shell:
        case "bash":
            words, at = (
                _split_line(environ.get("COMP_WORDS", "")),
                _parse_number(environ.get("COMP_CWORD", "")),
            )
            offers = complete_word(words[1:at], words[at] if at < len(words) else "")
            return ShellReply("".join(f"{word}\n" for word, _ in offers))
        case "zsh":
            return _zsh_reply(_complete_at_cursor(environ))
        case "fish":
            offers = _complete_at_cursor(environ)
            if environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
                return ShellReply("", 0 if offers else 1)
            return ShellReply("".join(f"{word}\t{about}\n" for word, about in offers))
        case _:
            return ShellReply("")


def bash_environment(words: Sequence[str]) -> dict[str, str]:
    """Return the variables with which bash asks about the last of these words."""
    return {"COMP_WORDS": shlex.join(words), "COMP_CWORD": str(len(words) - 1)}


def complete_word(
    before: Iterable[str], begun: str, table: CommandTable | None = None
) -> Completions:
    """Return the completions of a partial word that follows others."""
    table_words: CommandTable = json.loads(TABLE.read_bytes()) if table is None else table
    point = _cursor_context(before, table_words)
    if point is None:
        return []
    return [
        (word, about)
        for word, about in _all_completions(point, begun, table_words)
        if word.startswith(begun)
    ]


def _cursor_context(before: Iterable[str], commands: CommandTable) -> _CursorContext | None:
    """Return the command that the words name; None if one of them is no command."""
    path, options, awaits, arguments = "", set[str](), "", 0
    for word in before:
        command = commands[path]
        if awaits:
            awaits = ""
        elif word.startswith("-"):
            name, _, value = word.partition("=")
            options.add(name)
            awaits = name if not value and command["options"].get(name, {}).get("takes") else ""
        elif not command["commands"]:
            arguments += 1
        elif (named := command["aliases"].get(word, word)) in command["commands"]:
            path, options = f"{path} {named}".strip(), set()
        else:
            return None
    return _CursorContext(path, frozenset(options), awaits, arguments)


def _all_completions(point: _CursorContext, begun: str, commands: CommandTable) -> Completions:
    command = commands[point.path]
    if point.awaits:
        return _choice_completions(command["options"][point.awaits])
    if begun.startswith("-"):
        return [
            (name, option["about"])
            for name, option in command["options"].items()
            if option["many"] or not point.given.intersection(option["names"])
        ]
    if command["commands"]:
        return list(command["commands"].items())
    arguments = command["arguments"]
    return (
        _choice_completions(arguments[point.arguments]) if point.arguments < len(arguments) else []
    )


def _choice_completions(parameter: Mapping[str, Any]) -> Completions:
    return [(choice, "") for choice in parameter["choices"]]


def _complete_at_cursor(environ: Mapping[str, str]) -> Completions:
    """Answer zsh and fish, which tell the line up to the cursor."""
    line = environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split_line(line)[1:]
    if words and not line.endswith(" "):
        return complete_word(words[:-1], words[-1])
    return complete_word(words, "")


def _zsh_reply(offers: Completions) -> ShellReply:
    if not offers:
        return ShellReply("_files\n")
    rows = [
        f'"{_escape_zsh(word)}":"{_escape_zsh(about)}"' if about else f'"{_escape_zsh(word)}"'
        for word, about in offers
    ]
    return ShellReply("_arguments '*: :(({}))'\n".format("\n".join(rows)))


def _escape_zsh(text: str) -> str:
    for character, other in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(character, other)
    return text


def _split_line(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is still open
        return line.split()


def _parse_number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
