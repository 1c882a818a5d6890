"""Fields of an object looked at as JSON: read by their path, written into a copy, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tidegate.errors import UndecodableError

Path: TypeAlias = tuple[str | int, ...]
"""Names of fields and indexes of lists, from the object down."""
CONDITIONS = ("status", "conditions")


def parse_path(text: str) -> Path:
    """Return the path that ``spec.pods.0.template`` names."""
    return tuple(int(part) if part.isdecimal() else part for part in text.split("."))


def path_text(path: Path) -> str:
    """Return a path as people write it."""
    return ".".join(str(part) for part in path)


def value_at(obj: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON
    """Return the value at a path; None where there is none."""
    for part in path:
        match obj, part:
            case dict() | Mapping(), str():  # to ask for a Mapping takes far longer
                obj = obj.get(part)
            case list() | tuple(), int() if part < len(obj):
                obj = obj[part]
            case _:
                return None
    return obj


def object_at(obj: Any, path: Path) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return the object at a path, empty where there is none.

    Raises:
        UndecodableError: the path has another type of value.
    """
    value = value_at(obj, path)
    if value is None or isinstance(value, dict):
        return value or {}
    raise UndecodableError(f"{path_text(path)}: this is not an object.")


def list_at(obj: Any, path: Path) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Return the list of objects at a path, empty where there is none.

    Raises:
        UndecodableError: the path has another type of value.
    """
    value = value_at(obj, path)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UndecodableError(f"{path_text(path)}: this is not a list of objects.")
    return value


def with_value(obj: Any, path: Path, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a copy in which a path has a value; ``None`` takes the field out of its parent.

    Objects on the way that are missing are made, lists are not. ``obj`` stays as it was.
    """
    if not path:
        return value
    first, rest = path[0], path[1:]
    match obj, first:
        case list(), int():
            items = enumerate(obj)
            return [with_value(item, rest, value) if at == first else item for at, item in items]
        case ((Mapping() | None), str()):
            result = dict(obj or {})
            below = with_value(result.get(first), rest, value)
            if below is None:
                result.pop(first, None)
            else:
                result[first] = below
            return result
        case _:
            raise UndecodableError(f"{path_text(path)}: there is nothing that could hold it.")


def missing_parents(obj: Any, path: Path) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """Return the paths on the way to ``path`` at which nothing stands, the topmost first."""
    ways = (path[:depth] for depth in range(1, len(path)))
    return tuple(path_text(way) for way in ways if value_at(obj, way) is None)


def without_empty(obj: Any, paths: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
    """Return a copy without those of these objects that are empty; the deepest comes last."""
    for text in reversed(paths):
        path = parse_path(text)
        if value_at(obj, path) == {}:
            obj = with_value(obj, path, None)
    return obj


def number_at(obj: Any, path: Path, default: int = 0) -> int:  # noqa: ANN401 - any JSON
    """Return the number of pods, or the like, at a path; ``default`` where there is nothing.

    Raises:
        UndecodableError: it is no whole number from 0 to 2,147,483,647.
    """
    value = value_at(obj, path)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise UndecodableError(f"{path_text(path)}: {repr(value)[:80]} is not a number of pods.")
    return value


def number_of(obj: Any, path: Path) -> int:  # noqa: ANN401 - any JSON
    """Return the number of pods at a path; 0 where nothing stands, 1 if it is no such number.

    What cannot be read counts as something that runs.
    """
    try:
        return number_at(obj, path)
    except UndecodableError:
        return 1


def text_at(obj: Any, path: Path) -> str:  # noqa: ANN401 - any JSON
    """Return the text at a path, empty where there is none.

    Raises:
        UndecodableError: the path has another type of value.
    """
    value = value_at(obj, path)
    if value is None or isinstance(value, str):
        return value or ""
    raise UndecodableError(f"{path_text(path)}: {str(value)[:80]!r} is not a text.")


def true_condition(obj: Any, kinds: Iterable[str]) -> Mapping[str, Any] | None:  # noqa: ANN401 - any JSON
    """Return the first condition that is true and of one of these types, as the status lists them.

    Raises:
        UndecodableError: the conditions are none.
    """
    conditions = value_at(obj, CONDITIONS) or []
    if not isinstance(conditions, list) or not all(
        isinstance(condition, Mapping) for condition in conditions
    ):
        raise UndecodableError(f"{path_text(CONDITIONS)}: these are not conditions.")
    types = tuple(kinds)
    true = (condition for condition in conditions if condition.get("status") == "True")
    return next((condition for condition in true if condition.get("type") in types), None)


def outcome(obj: Any, outcomes: Mapping[str, str]) -> tuple[str, str]:  # noqa: ANN401 - any JSON
    """Return the outcome of an object and its condition's message; both empty until it ends.

    ``outcomes`` is by the condition's type; errors as in ``true_condition``.
    """
    ended = true_condition(obj, outcomes)
    return ("", "") if ended is None else (outcomes[ended["type"]], str(ended.get("message", "")))


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from ``old`` to ``new``; empty if they are equal.

    A list that differs is written whole, a field that is gone becomes null. ``new`` must not hold
    nulls of its own, for a merge patch cannot say them.
    """
    patch: dict[str, Any] = {}
    for field in (*old, *(field for field in new if field not in old)):
        before, after = old.get(field), new.get(field)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            patch[field] = merge_patch(before, after)
        else:
            patch[field] = after
    return patch
