"""How many entries the containers of an object have, to find what grows for ever."""

from __future__ import annotations


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
