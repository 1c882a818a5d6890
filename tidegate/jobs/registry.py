"""The one table of job kinds: each module of this package with a ``KIND``, and declarations."""

from __future__ import annotations

from collections.abc import Container, Iterable
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from tidegate import jobs
from tidegate.errors import NotSupportedError
from tidegate.jobs.declared import declared_kind
from tidegate.jobs.kind import JobKind
from tidegate.jobs.serving.kinds import ServingSet
from tidegate.kinds.policies.frameworks import FRAMEWORKS
from tidegate.kinds.policies.templates.serving_kinds import SERVING
from tidegate.model.declaration import Declaration

_ORDER = (
    *(framework.name for framework in FRAMEWORKS),
    *(framework.name for framework in SERVING),
    "pod",
    "pod-group",
)


def _kind_modules() -> dict[str, ModuleType]:
    """Return the modules that are kinds, by Kueue's names; those of a field first, as declared."""
    walked = walk_packages(jobs.__path__, f"{jobs.__name__}.")
    modules = [import_module(module_info.name) for module_info in walked]
    named = {module.KIND.name: module for module in modules if hasattr(module, "KIND")}
    return {name: named[name] for name in (*_ORDER, *sorted(named)) if name in named}


MODULES = _kind_modules()
"""The module of each kind that is built in, by Kueue's name."""
JOB_KINDS: dict[str, JobKind[Any]] = {name: module.KIND for name, module in MODULES.items()}
SETS: dict[str, ServingSet] = {
    name: module.SET for name, module in MODULES.items() if hasattr(module, "SET")
}
"""Every kind that is queued through its pods and has Workloads of its own, by Kueue's name."""
_DECLARED = set[str]()
_NOT_NAMED = {"pod-group", "workload"}
"""Kinds that others bring along, or that are always there."""
THROUGH_PODS = ("deployment",)
"""Kinds of which each pod is queued by itself: nothing but policies is about them."""


def is_supported(name: str) -> bool:
    """Return whether jobs of a kind are queued, by Kueue's name for it."""
    return name in JOB_KINDS or name in THROUGH_PODS


def check_frameworks(names: Iterable[str]) -> None:
    """Check that jobs of all kinds are queued that the configuration enables.

    Raises:
        NotSupportedError: there is no such kind, as Kueue says, too.
    """
    unknown = [name for name in names if not is_supported(name)]
    if unknown:
        kinds = sorted({*JOB_KINDS, *THROUGH_PODS} - _NOT_NAMED)
        raise NotSupportedError(
            f"integrations.frameworks: there is no job kind {unknown[0][:80]!r};"
            f" known: {', '.join(kinds)}."
        )


def register_declared(
    declarations: Iterable[Declaration], remote_kinds: Container[str] = ()
) -> None:
    """Add the kinds that the configuration declares; a process does it once, before it begins.

    ``remote_kinds``: those whose jobs may run on worker clusters.

    Raises:
        NotSupportedError: one is built in.
    """
    for declaration in declarations:
        builtin = (kind for name, kind in JOB_KINDS.items() if name not in _DECLARED)
        if any(
            (kind.group, kind.kind) == (declaration.group, declaration.kind) for kind in builtin
        ):
            raise NotSupportedError(
                f"The job kind {declaration.name} is built in: do not declare it."
            )
        _DECLARED.add(declaration.name)
        JOB_KINDS[declaration.name] = declared_kind(
            declaration, remote=declaration.name in remote_kinds
        )


def job_kind(name: str) -> JobKind[Any]:
    """Return the kind of this name.

    Raises:
        NotSupportedError: there is none.
    """
    if name not in JOB_KINDS:
        kinds = ", ".join(JOB_KINDS)
        raise NotSupportedError(f"There is no job kind {name!r}; known: {kinds}.")
    return JOB_KINDS[name]
