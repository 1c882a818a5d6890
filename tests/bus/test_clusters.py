"""Two installations on one NATS account: their streams and leases bear their clusters' names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.bus.worlds import entries, read_all, tell, texts
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.streams import StreamOptions, stream_names
from tidegate.contracts.entry import Position
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import NotSupportedError

pytestmark = pytest.mark.real


@asynccontextmanager
async def both(folder: Path) -> AsyncGenerator[tuple[NatsBus, NatsBus], None]:
    async with (
        embedded_server(folder) as url,
        open_bus(url, cluster="local", name="tests") as local,
        open_bus(url, cluster="other", name="tests") as other,
    ):
        for bus in (local, other):
            await bus.ensure_streams(StreamOptions())
        yield local, other


async def test_each_reads_what_its_own_cluster_observed(tmp_path: Path) -> None:
    async with both(tmp_path) as (local, other):
        await tell(local.observation_publisher(), "a")
        subject = observed_subject("other", "jobs.batch", "team-a", "j1")
        await other.observation_publisher().publish(subject, b"b", "s:b")
        assert texts(await read_all(local.observation_reader(), Position(), 1)) == ["a"]
        assert texts(await read_all(other.observation_reader(), Position(), 1)) == ["b"]


async def test_each_publishes_its_own_ledger_and_holds_its_own_lease(tmp_path: Path) -> None:
    async with both(tmp_path) as (local, other):
        _, counts = await local.event_publisher().last_published(Position())
        await local.event_publisher().publish("led", counts, entries(1, 2))
        assert await local.event_feed().newest() == ("led", 2)
        assert await other.event_feed().newest() == ("", 0)
        assert await local.lease("actuator-0", "a").try_acquire_or_renew()
        assert await other.lease("actuator-0", "b").try_acquire_or_renew()


def test_a_partition_has_events_of_its_own_and_shares_the_rest() -> None:
    first, second = stream_names("local"), stream_names("local", 2)
    differing = [
        field
        for field in first.__struct_fields__
        if getattr(first, field) != getattr(second, field)
    ]
    assert differing == ["events", "event_subjects", "partition"]
    assert second.events == "tidegate_local_events_2"
    assert second.event_subjects == "tidegate.local.partition.2.event.>"


@pytest.mark.parametrize("name", ["", "Prod", "a.b", "a_b", "-a", "a" * 64, "a b", "*"])
def test_a_name_that_cannot_stand_in_a_stream_is_refused(name: str) -> None:
    with pytest.raises(NotSupportedError, match="cluster's name"):
        stream_names(name)
