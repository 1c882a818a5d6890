"""In what an answer differs from what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.kinds.observed.answers import answered
from tests.kinds.observed.cases import Case
from tests.kinds.observed.deliberate import TABLE
from tests.kinds.observed.rows import Row, adapted


def differences(case: Case, table: Iterable[Row] = TABLE) -> list[str]:
    """Return each field that differs and not on purpose, with both values."""
    expected, fields = adapted(case, case.expected, answered(case), table)
    return [
        f"{path}: expected {theirs!r}, found {ours!r}"
        for field in expected
        for path, theirs, ours in _differing(
            field, plain(expected[field]), plain(fields.get(field))
        )
    ]


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value without what is empty: absent and empty are the same."""
    match value:
        case dict():
            kept = {key: plain(value) for key, value in value.items() if not _is_mark(key)}
            return {key: value for key, value in kept.items() if not _is_empty(value)}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def _is_empty(value: object) -> bool:
    """Tell whether a value is what its field has where nothing is written: 0 and false too."""
    return value in ({}, [], None, "", 0)


def _is_mark(key: str) -> bool:
    """Tell whether a field is no part of the comparison.

    Whether a job is suspended is reported by ``isSuspended``; what Tidegate notes is its own.
    """
    return key == "suspend" or key.startswith("tidegate.dev/")


def _differing(path: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401
    match theirs, ours:
        case dict(), dict():
            for key in sorted(theirs.keys() | ours.keys()):
                yield from _differing(f"{path}.{key}", theirs.get(key), ours.get(key))
        case list(), list() if len(theirs) == len(ours):
            for at, pair in enumerate(zip(theirs, ours, strict=True)):
                yield from _differing(f"{path}[{at}]", *pair)
        case _:
            if theirs != ours:
                yield path, theirs, ours
