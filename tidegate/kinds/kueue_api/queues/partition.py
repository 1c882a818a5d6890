"""The annotation ``tidegate.dev/partition`` of a ClusterQueue or Cohort: where it is decided."""

from __future__ import annotations

import re

from tidegate.errors import UndecodableError
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import PARTITION
from tidegate.model.ids import PARTITION_MAX, PARTITION_NUMBER
from tidegate.model.texts import whole

_SHOWN_MAX = 40


def partition_of(metadata: ObjectMeta) -> int:
    """Return the partition that an object names; 0 if it names none.

    Raises:
        UndecodableError: there is no such partition.
    """
    text = metadata.annotations.get(PARTITION, "0")
    number = whole(text) if re.fullmatch(PARTITION_NUMBER, text) else None
    if number is None:
        raise UndecodableError(
            f"metadata.annotations[{PARTITION}]: {text[:_SHOWN_MAX]!r} is no number from 0 to "
            f"{PARTITION_MAX}"
        )
    return number
