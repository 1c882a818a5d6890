"""What is observed of a placed job's copy, as the ingest of the cluster that it lies in has it.

The rules are docs/adr/0029.
"""

from __future__ import annotations

import msgspec

STATUS_BYTES_MAX = 16_384
"""Of a copy's status: a longer one is left out, and the job at home keeps the one before."""


class CopySeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An observed job is the copy of a job of another cluster.

    The observation's ``queue`` is then annotation tidegate.dev/origin-queue: the LocalQueue of the
    job at home, by which partitions tell whose copy it is. ``workload`` is what it would be for any
    other job of that name; no workload is made of it.
    """

    origin: str  # annotation tidegate.dev/origin: uid of the job at home, as ``CopyOrdered.uid``
    status: str = ""
    """The copy's ``status`` as JSON text, keys sorted, without what its controller alone needs
    (``uncountedTerminatedPods``), at most ``STATUS_BYTES_MAX`` bytes; empty: none. The actuator of
    the job's own cluster writes it there."""
