"""Rows as an aligned table of text, the same on every database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def shown(value: object) -> str:
    """Return one value; floats to six digits, so that the order of a sum does not show."""
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.6g}"
        case _:
            return str(value) or '""'


def table(names: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a heading and rows, one a line, without spaces at the ends."""
    lines = [list(names), *([shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join(padded) + "\n"
