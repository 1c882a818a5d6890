"""Findings of the checks of ``tidegate doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at, or could not be."""

    code: str
    ok: bool  # also of what could not be looked at: nothing wrong is known of it
    text: str
    to_do: str = ""  # empty if nothing is wrong
    skipped: bool = False  # it could not be looked at

    @property
    def verdict(self) -> str:
        """The result in a word: ok, wrong or skipped."""
        if self.skipped:
            return "skipped"
        return "ok" if self.ok else "wrong"


def ok_finding(code: str, text: str) -> Finding:
    """Return a finding about something in order."""
    return Finding(code, ok=True, text=text)


def wrong_finding(code: str, text: str, to_do: str) -> Finding:
    """Return a finding about something wrong, with its remedy."""
    return Finding(code, ok=False, text=text, to_do=to_do)


def skipped_finding(code: str, text: str, to_do: str) -> Finding:
    """Return a finding about something that could not be checked, and how it could be."""
    return Finding(code, ok=True, text=text, to_do=to_do, skipped=True)


def abbreviate(names: Sequence[str], most: int = 10) -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
