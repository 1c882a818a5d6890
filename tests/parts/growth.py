"""How many entries the containers of objects have, to find what grows for ever."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Iterator


def entries(root: object) -> dict[str, int]:
    """Return how many entries all that is reachable has, by the class and field that has them."""
    counts, seen, open_objects = dict[str, int](), set[int](), [("", root)]
    while open_objects:
        place, obj = open_objects.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if isinstance(obj, dict | list | set):
            counts[place] = counts.get(place, 0) + len(obj)
        if isinstance(obj, dict):
            open_objects += [(f"{place}[]", value) for value in (*obj, *obj.values())]
        elif isinstance(obj, list | set | tuple):
            open_objects += [(f"{place}[]", value) for value in obj]
        else:
            name = type(obj).__name__
            fields = (*getattr(obj, "__struct_fields__", ()), *getattr(obj, "__dict__", ()))
            open_objects += [(f"{name}.{field}", getattr(obj, field)) for field in fields]
    return counts


def kept_entries(*packages: str) -> Counter[str]:
    """Return how many entries the fields of a process's mutable objects have, by class and field.

    Counted are objects of classes of these packages, whatever refers to them.
    """
    gc.collect()
    counts = Counter[str]()
    for obj in gc.get_objects():
        if _is_mutable(obj, packages):
            for name, value in _fields(obj):
                counts[f"{type(obj).__name__}.{name}"] += _entries_in(value)
    return counts


def _entries_in(value: object) -> int:
    """Return how many entries a container has, and the containers in it."""
    if isinstance(value, dict):
        return len(value) + sum(map(_entries_in, value.values()))
    if isinstance(value, list | set | deque):
        return len(value) + sum(map(_entries_in, value))
    return 0


def _is_mutable(obj: object, packages: tuple[str, ...]) -> bool:
    config = getattr(type(obj), "__struct_config__", None)
    return str(type(obj).__module__).startswith(packages) and not (config and config.frozen)


def _fields(obj: object) -> Iterator[tuple[str, object]]:
    slots = (name for each in type(obj).__mro__ for name in _slots(each))
    for name in dict.fromkeys((*slots, *getattr(obj, "__dict__", ()))):
        yield name, getattr(obj, name, None)


def _slots(kind: type) -> tuple[str, ...]:
    slots: str | tuple[str, ...] = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
