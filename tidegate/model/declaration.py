"""A declared job kind: the paths of fields in its objects, without code.

Paths begin at the object, ``spec.suspend``; a number in one is an index of a list. An invalid
declaration raises ``ValueError`` with the field's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

_NAME_PARTS = 3
ROOTS = ("spec", "status")
"""Where paths begin; metadata is common to all kinds and needs no declaration."""


class Sign(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A test on an object: a condition that is true, or a field.

    Without ``values`` the field must be present, and neither false, nor 0, nor empty.
    """

    condition: str = ""  # its type
    path: str = ""
    values: tuple[str, ...] = ()  # the field's values, as text: "Running", "true", "3"

    def __post_init__(self) -> None:
        """Require exactly one of condition and path."""
        if bool(self.condition) == bool(self.path):
            raise ValueError("either condition or path is required")
        if self.path:
            check_path(self.path)


class Ending(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The test that an object ended, and its outcome."""

    when: Sign
    outcome: Literal["Succeeded", "Failed"]
    message: str = ""  # path of a text; a condition has its own message


class DeclaredPodSet(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """One podset, or one for each item of a list; then the other paths begin in the item."""

    name: str = "main"  # of a list: the path of each podset's name
    each: str = ""  # path of the list; empty: there is one podset
    count: str = ""  # path of the number of pods; without it, or if the field is missing: 1
    min_count: str = ""  # path of the least count of partial admission
    template: str = ""  # path of a pod template
    parts: dict[str, str] = {}
    """Where there is no template: paths of ``labels``, ``annotations`` and of fields of a pod's
    spec (``containers``, ``nodeSelector``, ``tolerations``, …)."""

    def __post_init__(self) -> None:
        """Require exactly one of template and parts, and valid paths."""
        if bool(self.template) == bool(self.parts):
            raise ValueError("either template or parts is required")
        if self.parts and "containers" not in self.parts:
            raise ValueError("parts must say where the containers are")
        if self.each:
            check_path(self.each)
            return
        for path in filter(None, (self.count, self.min_count, self.template, *self.parts.values())):
            check_path(path)


class Declaration(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A kind of a custom resource that is declared as a job kind."""

    name: str  # as in Kueue's externalFrameworks: "<Kind>.<version>.<group>"
    plural: str = ""  # as in API paths; empty: the kind in lower case and an s
    suspend: str  # path of the field that suspends it while true
    pod_sets: tuple[DeclaredPodSet, ...]
    finished: tuple[Ending, ...]  # the first that holds counts
    active: Sign  # pods run or may run: a stop waits until it no longer holds
    ready: Sign | None = None  # all pods run; None: not reported
    priority_class: str = ""  # path of a PriorityClass's name; else the first podset's

    def __post_init__(self) -> None:
        """Require a complete name and valid paths."""
        if self.name.count(".") < _NAME_PARTS - 1 or not all(self.name.split(".")):
            raise ValueError(f"name {self.name!r} is not of the form Kind.version.group")
        if not self.suspend.startswith("spec.") or any(map(str.isdecimal, self._suspend_parts())):
            raise ValueError(f"suspend {self.suspend!r} is no field of the spec")
        if not self.pod_sets:
            raise ValueError("podSets are empty, so nothing would run")
        if self.priority_class:
            check_path(self.priority_class)
        for ending in self.finished:
            if ending.message:
                check_path(ending.message)

    @property
    def kind(self) -> str:
        """Return the kind as in the objects' ``kind``."""
        return self.name.split(".")[0]

    @property
    def version(self) -> str:
        """Return the version of the API."""
        return self.name.split(".")[1]

    @property
    def group(self) -> str:
        """Return the API group."""
        return ".".join(self.name.split(".")[2:])

    @property
    def resource(self) -> str:
        """Return the plural as in API paths."""
        return self.plural or f"{self.kind.lower()}s"

    def _suspend_parts(self) -> Iterator[str]:
        yield from self.suspend.split(".")


def check_path(text: str) -> None:
    """Raise ValueError if a path does not lead from spec or status to a field."""
    first, *rest = text.split(".")
    if first not in ROOTS or not rest or not all(rest):
        raise ValueError(f"path {text!r} does not lead into {' or '.join(ROOTS)}")
