"""An observation that makes the core or the ledger raise is refused, and all else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import msgspec
import pytest

from scheduler.term import schedule
from store.schema import migrate
from tests.parts.postgresql import Server
from tests.scheduler.stage import Stage, beat, first_round, play, queue, until
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.facts import ClusterQueueDefined, JobStateReported, ObservationRefused
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State

HUGE = 10**30
JOB = JobObserved(
    namespace="team",
    name="huge",
    uid="u",
    version=9,
    session="s",
    kind="batch/job",
    workload="team/huge",
    queue="main",
)


def poison() -> bytes:
    """Return the observation of a job that was made at a time that no database keeps."""
    plain = msgspec.json.decode(encode(JOB))
    return msgspec.json.encode(plain | {"created_us": HUGE})


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.real)])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A migrated ledger of PostgreSQL, or nothing: the stage has one in SQLite's memory."""
    if request.param == "sqlite":
        yield ""
        return
    server: Server = request.getfixturevalue("postgresql")
    made = server.new_database()
    migrate.upgrade(made)
    yield made
    server.drop(made)


def test_what_makes_a_turn_fail_is_refused_and_the_next_goes_on(url: str) -> None:
    async def story(stage: Stage) -> None:
        stopping = asyncio.Event()
        deps = stage.deps()
        leading = asyncio.ensure_future(schedule(deps, stopping, Random(1)))
        await until(lambda: deps.status.role == "leading")
        await stage.say(*first_round(), poison(), queue("after", 9), beat(2))
        await until(lambda: "after" in defined(stage))
        stopping.set()
        await leading
        assert len(refused(stage)) == 1
        assert stage.all_is_published()

    play(story, url)


def defined(stage: Stage) -> set[str]:
    events = [decode(entry.payload) for entry in stage.entries()]
    return {event.name for event in events if isinstance(event, ClusterQueueDefined)}


def refused(stage: Stage) -> list[str]:
    events = [decode(entry.payload) for entry in stage.entries()]
    return [event.error for event in events if isinstance(event, ObservationRefused)]


def test_an_entry_that_makes_no_sense_is_passed_over_and_counted() -> None:
    state = State()
    state.workloads["team/odd"] = "odd"  # type: ignore[assignment]  # what no fold leaves behind
    odd = JobStateReported(at_us=1, workload="team/odd", uid="u", state=JobState())
    for passed_over in (1, 2):
        apply_recorded(state, odd)
        assert (state.seq, state.passed_over) == (passed_over, passed_over)
