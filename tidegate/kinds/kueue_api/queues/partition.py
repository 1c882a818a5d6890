"""The annotations of a ClusterQueue or Cohort that say where it is decided, and is to be."""

from __future__ import annotations

import re

from tidegate.errors import UndecodableError
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import MOVE_TO, PARTITION
from tidegate.model.ids import PARTITION_MAX, PARTITION_NUMBER
from tidegate.model.texts import whole

_SHOWN_MAX = 40


def partition_of(metadata: ObjectMeta) -> int:
    """Return the partition that an object names; 0 if it names none.

    Raises:
        UndecodableError: there is no such partition.
    """
    return _number(PARTITION, metadata.annotations.get(PARTITION, "0"))


def move_to_of(metadata: ObjectMeta) -> int | None:
    """Return the partition that an object is to move to; None if it names none.

    Raises:
        UndecodableError: there is no such partition.
    """
    text = metadata.annotations.get(MOVE_TO)
    return None if text is None else _number(MOVE_TO, text)


def _number(key: str, text: str) -> int:
    number = whole(text) if re.fullmatch(PARTITION_NUMBER, text) else None
    if number is None:
        raise UndecodableError(
            f"metadata.annotations[{key}]: {text[:_SHOWN_MAX]!r} is no number from 0 to "
            f"{PARTITION_MAX}"
        )
    return number
