"""The row of a kind that a field suspends: how it is called, and the engine for its layout."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.job_status import Layout, Loose
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.managed_by import ManagedBy
from tidegate.jobs.suspending.suspended import Engine


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind is called."""

    name: str  # as Kueue's configuration calls it
    group: str
    version: str
    kind: str
    plural: str
    managed_by: ManagedBy | None = None
    skips: Callable[[Loose], bool] = lambda _: False
    refers: Callable[[Object], tuple[str, ...]] = lambda _: ()
    referred: tuple[str, ...] = ()
    needs_referred: bool = True


def suspended_kind(who: Identity, layout: Layout) -> JobKind[Loose]:
    """Return the row of a kind that a field suspends."""
    engine = Engine(layout)

    def observe(found: Loose) -> JobObserved:
        return engine.observe(kind, found)

    kind = JobKind(
        **{field: getattr(who, field) for field in who.__struct_fields__},
        seen=Loose,
        observe=observe,
        start=engine.start,
        stop=engine.stop,
        standing=engine.stands,
        podsets=engine.podsets,
        elastic=layout.elastic,
        sized=layout.sized,
    )
    return kind
