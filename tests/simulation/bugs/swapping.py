"""Putting other code in a function's place, in every module that imported it by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Bug = Callable[[], AbstractContextManager[None]]


@contextmanager
def swapped(original: Any, changed: Any) -> Iterator[None]:  # noqa: ANN401 - any function
    """Let ``changed`` stand for a module's function wherever it was imported by its name."""
    name = original.__name__
    places = [
        module
        for module in list(sys.modules.values())
        if getattr(module, "__dict__", {}).get(name) is original
    ]
    assert places, f"nobody knows {name}"
    for module in places:
        setattr(module, name, changed)
    try:
        yield
    finally:
        for module in places:
            setattr(module, name, original)


@contextmanager
def swapped_method(owner: type, name: str, changed: Any) -> Iterator[None]:  # noqa: ANN401 - as above
    """Let ``changed`` stand for a method of a class."""
    original = owner.__dict__[name]
    setattr(owner, name, changed)
    try:
        yield
    finally:
        setattr(owner, name, original)
