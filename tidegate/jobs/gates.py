"""What keeps a job from starting here: gates in its annotation, and another controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.templates.paths import Path, text_at
from tidegate.kinds import names
from tidegate.kinds.names import PLACED
from tidegate.kinds.policies.frameworks import MULTIKUEUE
from tidegate.model.multikueue import CONTROLLER
from tidegate.model.texts import bounded

LIST_MAX, ITEM_MAX = 64, 316
"""Names in an annotation's list, and characters of each: those of a qualified name."""


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas.

    Raises:
        UndecodableError: the list has more than 64 names, or a name of more than 316 characters.
    """
    if not text:  # nearly all
        return ()
    huge = len(text) > LIST_MAX * (ITEM_MAX + 1)
    parsed_names = () if huge else tuple(name.strip() for name in text.split(",") if name.strip())
    if huge or len(parsed_names) > LIST_MAX or any(len(name) > ITEM_MAX for name in parsed_names):
        raise UndecodableError(f"A list has at most {LIST_MAX} names of {ITEM_MAX} characters.")
    return tuple(bounded(name, ITEM_MAX) for name in parsed_names)


def gate_names(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Return the gates of a job or Workload, by the annotation that its user may write.

    MultiKueue's name there is a gate as any other, and does not name the job's controller: it would
    pass for ``spec.managedBy``, and the job would run here beside its copy on a worker cluster.

    Raises:
        UndecodableError: see ``split_names``.
    """
    written = split_names(annotations.get(names.ADMISSION_GATED_BY, ""))
    own = f"{names.ADMISSION_GATED_BY}: {CONTROLLER}"
    return tuple(own if name == CONTROLLER else name for name in written)


class ManagedBy(msgspec.Struct, frozen=True, kw_only=True):
    """The field of a kind that names the controller of an object."""

    path: Path
    own: str  # the kind's own controller, which is meant where nothing stands

    def other_controller(self, obj: Mapping[str, Any]) -> str:
        """Return the third-party controller that runs an object; empty: its kind's own."""
        named = text_at(obj, self.path)
        return "" if named == self.own else named

    def is_elsewhere(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object belongs to another controller, which Kueue leaves alone."""
        return self.other_controller(obj) not in ("", MULTIKUEUE, PLACED)

    def gates(self, obj: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the gate of an object that another cluster is to run; empty: it may start here."""
        return (MULTIKUEUE,) if self.other_controller(obj) == MULTIKUEUE else ()
