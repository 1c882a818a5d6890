"""Options that name a moment of the ledger: by a seq, or by a time."""

from __future__ import annotations

import typer

from tidegate.cli.times import parse_utc
from tidegate.model.texts import parse_whole


def parse_seq(text: str, option: str) -> int:
    """Return the seq that decimal digits write.

    Raises:
        BadParameter: no ledger holds so many events.
    """
    seq = parse_whole(text)
    if seq is None:
        raise typer.BadParameter(f"{option} {text[:32]!r} is not a valid seq.")
    return seq


def parse_time_option(text: str, option: str) -> int:
    """Return the time that an option names where it might have named a seq.

    Raises:
        BadParameter: it is none.
    """
    try:
        return parse_utc(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r} is neither a seq nor a time: 2026-03-02T08:30:00Z, or 2h (ago)."
        ) from None
