"""Observations of a placed job's copy by the ingest of the copy's cluster.

The rules are docs/adr/0029.
"""

from __future__ import annotations

import msgspec

STATUS_BYTES_MAX = 16_384
"""The size of a copy's status: a longer one is left out, and the job at home keeps its last."""


class CopySeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An observed job is the copy of a job of another cluster.

    The observation's ``queue`` is then annotation tidegate.dev/origin-queue: the LocalQueue of the
    job at home, which decides to which partition the copy belongs. ``workload`` is the same as for
    any other job of that name, but the copy gets no workload.
    """

    origin: str  # annotation tidegate.dev/origin: uid of the job at home, as ``CopyOrdered.uid``
    status: str = ""
    """The copy's ``status`` as JSON text, keys sorted, without fields only for its controller
    (``uncountedTerminatedPods``), at most ``STATUS_BYTES_MAX`` bytes; empty: none. The actuator of
    the job's own cluster writes it there."""
