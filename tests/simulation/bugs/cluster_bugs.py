"""Bugs about the cluster's objects: which version counts, who is present, what proves a stop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from msgspec.structs import replace

from actuator import apply as applies
from tests.simulation.bugs.swapping import swapped
from tidegate.contracts.entry import Message
from tidegate.contracts.facts import FactEvent
from tidegate.contracts.observations import JobState, Observation, Observed, SyncCompleted
from tidegate.core import accept as accepts
from tidegate.core import wanted
from tidegate.core.accepting import versions
from tidegate.core.draft import Draft, Workload
from tidegate.jobs import kind


def resource_version_dropped() -> AbstractContextManager[None]:
    """Pin a patch to the object, but not to the version that it was thought out for."""

    def pinned(body: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        uid = found["metadata"]["uid"]
        return {**body, "metadata": {**body.get("metadata", {}), "uid": uid}}

    return swapped(applies.pinned, pinned)


def release_on_stale_inactivity() -> AbstractContextManager[None]:
    """Take a job that looks idle as stopped, whichever order it has seen."""

    def is_stopped(_: Draft, workload: Workload, state: JobState | None = None) -> bool:
        state, order = workload.state if state is None else state, workload.order
        if order is None or order.kind != "stop":
            return False
        return not state.started and state.active == 0

    return swapped(wanted.is_stopped, is_stopped)


def ledger_id_ignored() -> AbstractContextManager[None]:
    """Read the number of a decision, whichever ledger it is from."""

    def number(decision: str) -> int:
        return int(decision.rpartition("/")[2] or 0)

    def decided(decision: str, _: str) -> int:
        return number(decision)

    def decision_seq(_: Draft, decision: str) -> int:
        return number(decision)

    @contextmanager
    def both() -> Iterator[None]:
        with swapped(kind.decided, decided), swapped(wanted.decision_seq, decision_seq):
            yield

    return both()


def second_ingest_lagging() -> AbstractContextManager[None]:
    """Believe whoever speaks last, however old what it tells is."""

    def is_outdated(*_: object) -> bool:
        return False

    return swapped(versions.is_outdated, is_outdated)


def presence_by_messages() -> AbstractContextManager[None]:
    """Take as present who was told between the brackets."""
    news = accepts._news  # noqa: SLF001 - the seam
    heard = defaultdict[tuple[str, int], dict[str, None]](dict)

    def _news(draft: Draft, at_us: int, message: Message, told: Observation) -> Iterator[FactEvent]:
        if isinstance(told, Observed) and told.round:
            heard[told.session, told.round][told.uid] = None
        if isinstance(told, SyncCompleted):
            present = tuple(heard[told.session, told.round])
            told = replace(told, present=present)
        return news(draft, at_us, message, told)

    return swapped(news, _news)
