"""Ranges of days, as texts, and the days in a range that have no price yet."""

from __future__ import annotations

from collections.abc import Iterable

FOR_EVER = "9999-99-99"
"""Later than any day."""


def gaps(begin: str, end: str, spans: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parts of the days from ``begin`` until ``end`` that no other span takes."""
    free, at = list[tuple[str, str]](), begin
    for first, until in sorted(span for span in spans if span[0] < span[1]):
        if at < first:
            free.append((at, min(first, end)))
        at = max(at, until)
        if at >= end:
            return [span for span in free if span[0] < span[1]]
    return [span for span in (*free, (at, end)) if span[0] < span[1]]
