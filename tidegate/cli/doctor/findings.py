"""Findings of the checks of ``tidegate doctor``."""

from __future__ import annotations

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
        """What it comes to, in a word: ok, wrong or skipped."""
        if self.skipped:
            return "skipped"
        return "ok" if self.ok else "wrong"


def good(code: str, text: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(code, ok=True, text=text)


def wrong(code: str, text: str, to_do: str) -> Finding:
    """Say what is not as it should be, and what to do about it."""
    return Finding(code, ok=False, text=text, to_do=to_do)


def skipped(code: str, text: str, to_do: str) -> Finding:
    """Say what could not be looked at, and how it could be."""
    return Finding(code, ok=True, text=text, to_do=to_do, skipped=True)
