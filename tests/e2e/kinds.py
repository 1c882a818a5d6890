"""Every act: what each module of ``tests.e2e.acts`` has."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.e2e import acts
from tests.e2e.act import Act

ACTS: tuple[Act, ...] = tuple(
    act
    for module in sorted(module.name for module in iter_modules(acts.__path__))
    for act in import_module(f"{acts.__name__}.{module}").ACTS
)
