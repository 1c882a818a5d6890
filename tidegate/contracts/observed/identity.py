"""The identity that every object's observation begins with."""

from __future__ import annotations

import msgspec


class Observed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity that every object's observation begins with."""

    namespace: str = ""
    name: str
    uid: str
    version: int  # resourceVersion
    session: str  # of ingest
    round: int = 0  # of the list; 0: a watch


class Placed(Observed, frozen=True, kw_only=True, omit_defaults=True):
    """Root of observations of objects that belong to one partition."""

    partition: int = 0  # annotation tidegate.dev/partition
    move_to: int | None = None  # annotation tidegate.dev/move-to
