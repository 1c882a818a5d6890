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

Words: TypeAlias = dict[str, dict[str, Any]]  # by a command's path: see completion_table
Offers: TypeAlias = list[tuple[str, str]]  # words, each with what is said of it


class Answer(NamedTuple):
    """The completions that a shell gets."""

    text: str
    exit_code: int = 0


class _Point(NamedTuple):
    """The point that a command line has reached: its command, and what may follow."""

    path: str  # the command, e.g. "queue list"
    given: frozenset[str]  # options
    awaits: str  # the option whose value comes next; empty: none
    arguments: int  # how many were given


def answer(shell: str, environ: Mapping[str, str]) -> Answer:
    """Answer a completing shell: ``environ`` are its variables; an unknown one gets nothing."""
    match shell:
        case "bash":
            words, at = (
                _split(environ.get("COMP_WORDS", "")),
                _number(environ.get("COMP_CWORD", "")),
            )
            offers = offered(words[1:at], words[at] if at < len(words) else "")
            return Answer("".join(f"{word}\n" for word, _ in offers))
        case "zsh":
            return _answer_zsh(_offered_behind(environ))
        case "fish":
            offers = _offered_behind(environ)
            if environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
                return Answer("", 0 if offers else 1)
            return Answer("".join(f"{word}\t{about}\n" for word, about in offers))
        case _:
            return Answer("")


def bash_line(words: Sequence[str]) -> dict[str, str]:
    """Return the variables with which bash asks about the last of these words."""
    return {"COMP_WORDS": shlex.join(words), "COMP_CWORD": str(len(words) - 1)}


def offered(before: Iterable[str], begun: str, table: Words | None = None) -> Offers:
    """Return the completions of a partial word that follows others."""
    table_words: Words = json.loads(TABLE.read_text()) if table is None else table
    point = _follow(before, table_words)
    if point is None:
        return []
    return [
        (word, about) for word, about in _all(point, begun, table_words) if word.startswith(begun)
    ]


def _follow(before: Iterable[str], commands: Words) -> _Point | None:
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
    return _Point(path, frozenset(options), awaits, arguments)


def _all(point: _Point, begun: str, commands: Words) -> Offers:
    command = commands[point.path]
    if point.awaits:
        return _choices(command["options"][point.awaits])
    if begun.startswith("-"):
        return [
            (name, option["about"])
            for name, option in command["options"].items()
            if option["many"] or not point.given.intersection(option["names"])
        ]
    if command["commands"]:
        return list(command["commands"].items())
    arguments = command["arguments"]
    return _choices(arguments[point.arguments]) if point.arguments < len(arguments) else []


def _choices(parameter: Mapping[str, Any]) -> Offers:
    return [(choice, "") for choice in parameter["choices"]]


def _offered_behind(environ: Mapping[str, str]) -> Offers:
    """Answer zsh and fish, which tell the line up to the cursor."""
    line = environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    if words and not line.endswith(" "):
        return offered(words[:-1], words[-1])
    return offered(words, "")


def _answer_zsh(offers: Offers) -> Answer:
    if not offers:
        return Answer("_files\n")
    rows = [
        f'"{_for_zsh(word)}":"{_for_zsh(about)}"' if about else f'"{_for_zsh(word)}"'
        for word, about in offers
    ]
    return Answer("_arguments '*: :(({}))'\n".format("\n".join(rows)))


def _for_zsh(text: str) -> str:
    for character, other in (('"', '""'), ("'", "''"), ("$", "\\$"), ("`", "\\`"), (":", "\\\\:")):
        text = text.replace(character, other)
    return text


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is still open
        return line.split()


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
