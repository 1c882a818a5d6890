"""The man pages of section 1: one of the command line and one of each command, as troff."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

from typer.main import get_command

from tidegate.cli.main import build
from tidegate.cli.reference import Page, commands, default_of, help_of, is_group, parted

_HEAD = '.\\" Made by `make generate` from tidegate/cli: do not edit.'
_SPECIAL = {
    "\\": "\\e",
    "-": "\\-",
    "'": "\\(aq",
    '"': "\\(dq",
    "`": "\\(ga",
    "^": "\\(ha",
    "~": "\\(ti",
}
"""What troff would take for an order, or set as another character than the one to be typed."""
_LITERAL = re.compile(r"`([^`]+)`")
_EXITS = (
    ("0", "Yes, or done."),
    ("1", "No: what was asked for does not hold, or does not exist."),
    ("2", "It was used wrongly."),
    ("3", "A database, a bus or an API server cannot be reached."),
)


def pages() -> dict[str, str]:
    """Return every page by the name of its file: ``tidegate.1``, ``tidegate-queue-list.1``."""
    found = commands()
    all_ = [Page("", get_command(build())), *found]
    return {f"{_name(one.path)}.1": _page(one, _within(one.path, found)) for one in all_}


def escaped(text: str) -> str:
    """Return one line as troff that prints just this; never as an order to troff.

    A full stop at its beginning would be one. Characters beyond ASCII are written by their number,
    so that no page depends on the encoding that a reader's troff expects.
    """
    line = _set(text)
    return f"\\&{line}" if line.startswith(".") else line


def _set(text: str) -> str:
    return "".join(
        _SPECIAL.get(one, one) if one.isascii() else f"\\[u{ord(one):04X}]" for one in text
    )


def _page(one: Page, within: list[Page]) -> str:
    said, examples = parted(one.command)
    paragraphs = [" ".join(part.split()) for part in said.split("\n\n")]
    name = _name(one.path)
    lines = [
        _HEAD,
        f'.TH {escaped(name.upper())} 1 "" "Tidegate {version("tidegate")}" "Tidegate"',
        *_headed("NAME", [f"{escaped(name)} \\- {_prose(paragraphs[0].removesuffix('.'))}"]),
        *_headed("SYNOPSIS", [_synopsis(one)]),
        *_headed("DESCRIPTION", "\n.PP\n".join(map(_prose, paragraphs)).splitlines()),
        *_headed("COMMANDS", _inner(within)),
        *_headed("ARGUMENTS", _parameters(one.command, "argument")),
        *_headed("OPTIONS", _parameters(one.command, "option")),
        *_headed("EXAMPLES", [".nf", *map(escaped, examples), ".fi"] if examples else []),
        *_headed("EXIT STATUS", _listed([(_bold(code), text) for code, text in _EXITS])),
        *_headed("SEE ALSO", _others(one.path)),
    ]
    return "\n".join(lines) + "\n"


def _within(path: str, found: list[Page]) -> list[Page]:
    """Return the commands that a group holds itself."""
    return [one for one in found if one.path.rpartition(" ")[0] == path]


def _headed(title: str, lines: list[str]) -> list[str]:
    return [f".SH {title}", *lines] if lines else []


def _listed(rows: list[tuple[str, str]]) -> list[str]:
    return [line for head, text in rows for line in (".TP", head, _prose(text))]


def _inner(within: list[Page]) -> list[str]:
    return _listed([(_reference(one.path), _first(one.command)) for one in within])


def _first(command: Any) -> str:  # noqa: ANN401 - click's Command
    return " ".join(parted(command)[0].partition("\n\n")[0].split())


def _synopsis(one: Page) -> str:
    words = [_bold(f"tidegate {one.path}".strip())]
    if is_group(one):
        return " ".join([*words, _italic("COMMAND"), "..."])
    if any(_shown(each, "option") for each in one.command.params):
        words.append(f"[{_italic('OPTION')}]...")
    return " ".join(
        words + [_argument(each) for each in one.command.params if _shown(each, "argument")]
    )


def _argument(argument: Any) -> str:  # noqa: ANN401 - click's Argument
    said = argument.metavar or argument.name.upper()
    spelled = _italic(said) + ("..." if argument.nargs < 0 else "")
    return spelled if argument.required or said.startswith("[") else f"[{spelled}]"


def _parameters(command: Any, sort: str) -> list[str]:  # noqa: ANN401 - click's Command
    shown = [one for one in command.params if _shown(one, sort)]
    spell = _option if sort == "option" else _argument
    return _listed([(spell(one), _told(one)) for one in shown])


def _shown(parameter: Any, sort: str) -> bool:  # noqa: ANN401 - click's Parameter
    return bool(parameter.param_type_name == sort and not getattr(parameter, "hidden", False))


def _option(option: Any) -> str:  # noqa: ANN401 - click's Option
    spelled = ", ".join(_bold(one) for one in (*option.opts, *option.secondary_opts))
    if option.is_flag:
        return spelled
    return f"{spelled} {_italic(option.metavar or option.opts[0].lstrip('-').upper())}"


def _told(parameter: Any) -> str:  # noqa: ANN401 - click's Parameter
    said = help_of(parameter)
    if parameter.param_type_name == "argument":
        return said
    if parameter.required:
        return f"{said} It has to be given."
    given = default_of(parameter)
    return f"{said} Default: {given}." if given else said


def _others(path: str) -> list[str]:
    """Refer to the page above and, of the first page, to kubectl's."""
    if not path:
        return ["\\fBkubectl\\fR(1)"]
    return [_reference(path.rpartition(" ")[0])]


def _reference(path: str) -> str:
    return f"{_bold(_name(path))}(1)"


def _prose(text: str) -> str:
    """Return a paragraph, its literals in bold."""
    parts = _LITERAL.split(text)
    line = "".join(_bold(part) if at % 2 else _set(part) for at, part in enumerate(parts))
    return f"\\&{line}" if line.startswith(".") else line


def _bold(text: str) -> str:
    return f"\\fB{_set(text)}\\fR"


def _italic(text: str) -> str:
    return f"\\fI{_set(text)}\\fR"


def _name(path: str) -> str:
    return f"tidegate {path}".strip().replace(" ", "-")
