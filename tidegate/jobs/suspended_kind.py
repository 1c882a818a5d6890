"""The row of a kind that a field suspends: how it is called, and the engine for its layout."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.gates import ManagedBy
from tidegate.jobs.job_status import Layout, UntypedObject
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.suspended import SuspendEngine
from tidegate.jobs.templates.paths import parse_path
from tidegate.kinds.policies.frameworks import Framework


def suspended_kind(  # noqa: PLR0913 - what a kind may say of itself
    row: Framework,
    layout: Layout,
    *,
    is_skipped: Callable[[UntypedObject], bool] = lambda _: False,
    referred_paths: Callable[[Object], tuple[str, ...]] = lambda _: (),
    waits_for_referred: bool = True,
    managed_by: ManagedBy | None = None,
) -> JobKind[UntypedObject]:
    """Return a kind that a field suspends; see ``JobKind`` for what else it may say."""
    engine = SuspendEngine(layout, parse_path(row.suspend))
    if row.controller:
        managed_by = ManagedBy(path=parse_path(row.managed_by), own=row.controller)

    def observe(typed: UntypedObject) -> JobObserved:
        return engine.observe(kind, typed)

    kind = JobKind(
        name=row.name,
        group=row.group,
        version=row.version,
        kind=row.kind,
        plural=row.resource,
        managed_by=managed_by,
        is_skipped=is_skipped,
        referred_paths=referred_paths,
        referred_plurals=row.looks_at,
        waits_for_referred=waits_for_referred,
        object_type=UntypedObject,
        observe=observe,
        start=engine.start,
        stop=engine.stop,
        status_of=engine.job_state,
        terminal_phase=engine.terminal_phase,
        podsets=engine.podsets,
        elastic=layout.elastic,
        size_version=layout.size_version,
    )
    return kind
