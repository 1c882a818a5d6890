"""The row of a kind that a field suspends: how it is called, and the engine for its layout."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.gates import ManagedBy
from tidegate.jobs.job_status import Layout, Loose
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.suspended import Engine
from tidegate.jobs.templates.paths import parsed
from tidegate.kinds.policies.frameworks import Framework


def suspended_kind(  # noqa: PLR0913 - what a kind may say of itself
    row: Framework,
    layout: Layout,
    *,
    skips: Callable[[Loose], bool] = lambda _: False,
    refers: Callable[[Object], tuple[str, ...]] = lambda _: (),
    needs_referred: bool = True,
    managed_by: ManagedBy | None = None,
) -> JobKind[Loose]:
    """Return a kind that a field suspends; see ``JobKind`` for what else it may say."""
    engine = Engine(layout, parsed(row.suspend))
    if row.controller:
        managed_by = ManagedBy(path=parsed(row.managed_by), own=row.controller)

    def observe(typed: Loose) -> JobObserved:
        return engine.observe(kind, typed)

    kind = JobKind(
        name=row.name,
        group=row.group,
        version=row.version,
        kind=row.kind,
        plural=row.resource,
        managed_by=managed_by,
        skips=skips,
        refers=refers,
        referred=row.looks_at,
        needs_referred=needs_referred,
        seen=Loose,
        observe=observe,
        start=engine.start,
        stop=engine.stop,
        status_of=engine.stands,
        ended=engine.ended,
        podsets=engine.podsets,
        elastic=layout.elastic,
        sized=layout.sized,
    )
    return kind
