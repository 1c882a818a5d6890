"""A row of the table of deliberate differences, and what it takes out of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.circumstances import always

ALL = ("",)
"""Every kind: prefixes of their names."""


@dataclass(frozen=True)
class Row:
    """Answers that are not compared, or only as to whether there is one."""

    fields: tuple[str, ...]
    why: str
    kinds: tuple[str, ...] = ALL
    when: Callable[[Case], bool] = always
    whether: bool = False  # compared: that both have one
    drops: tuple[str, ...] = ()  # of an object or a list at the field: only these are left out

    def is_about(self, case: Case) -> bool:
        """Tell whether a case's answers are compared less for this row."""
        return case.kind.startswith(self.kinds) and self.when(case)


def adapted(
    case: Case, expected: Object, obj: Object, table: Iterable[Row]
) -> tuple[Object, Object]:
    """Return both sides without what differs on purpose."""
    for row in table:
        if row.is_about(case):
            for field in row.fields:
                expected, obj = _told(expected, field, row), _told(obj, field, row)
    return expected, obj


def _told(side: Any, field: str, row: Row) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(side, list):
        return [_told(item, field, row) for item in side]
    name, _, rest = field.partition(".")
    if not isinstance(side, dict) or name not in side:
        return side
    kept = {key: value for key, value in side.items() if key != name}
    if rest:
        return kept | {name: _told(side[name], rest, row)}
    if row.drops:
        return kept | {name: _without(side[name], row.drops)}
    return kept | {name: bool(side[name])} if row.whether else kept


def _without(value: Any, dropped: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
    match value:
        case dict():
            return {key: value for key, value in value.items() if key not in dropped}
        case list():
            names = [item.get("name") if isinstance(item, dict) else item for item in value]
            return [value for value, name in zip(value, names, strict=True) if name not in dropped]
        case _:
            return value
