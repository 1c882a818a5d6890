"""Lists of names in annotations, among them the gates that must open before a job is admitted."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.errors import UndecodableError
from tidegate.kinds import names
from tidegate.model.multikueue import CONTROLLER
from tidegate.model.texts import bounded

LIST_MAX, ITEM_MAX = 64, 316
"""Names in an annotation's list, and characters of each: those of a qualified name."""


def listed(text: str) -> tuple[str, ...]:
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


def gated_by(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Return the gates of a job or Workload, by the annotation that its user may write.

    MultiKueue's name there is a gate as any other, and does not name the job's controller: it would
    pass for ``spec.managedBy``, and the job would run here beside its copy on a worker cluster.

    Raises:
        UndecodableError: see ``listed``.
    """
    written = listed(annotations.get(names.ADMISSION_GATED_BY, ""))
    own = f"{names.ADMISSION_GATED_BY}: {CONTROLLER}"
    return tuple(own if name == CONTROLLER else name for name in written)
