"""Readers join the shipped bus as `reader` over TLS: the doctor, followers of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.deploy.nats_server import Served, nats_with_accounts, password
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cli.doctor.examining import examine_bus
from tidegate.cli.sample.ledger import LEDGER_ID, sample_turns
from tidegate.contracts.entry import Position
from tidegate.subscribe import newest, subscribe

pytestmark = pytest.mark.real
ENTRIES = [entry for entries in sample_turns() for entry in entries]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """Lend a server with all streams and the events of the sample."""
    with nats_with_accounts(tmp_path / "server") as result:
        url, ca = result.url("scheduler"), str(result.ca)
        async with open_bus(url, cluster="local", name="scheduler", ca=ca) as bus:
            await bus.ensure_streams(StreamOptions())
            await bus.event_publisher().publish(LEDGER_ID, Position(0, 0), ENTRIES)
        yield result


async def test_the_doctor_sees_every_stream_as_reader(served: Served) -> None:
    url, ca = served.url("reader"), str(served.ca)
    findings = await asyncio.to_thread(
        lambda: list(examine_bus(url, LEDGER_ID, ENTRIES[-1], ca=ca))
    )
    assert [finding.code for finding in findings] == ["StreamsInPlace", "EventsCaughtUp"]


@pytest.mark.parametrize(
    ("text", "ca", "to_do"),
    [
        ("reader", "", "pass the CA of the server's certificate: --bus-ca FILE"),
        ("reader", "nowhere", "pass the CA's certificate: --bus-ca FILE"),
        (
            "wrong",
            "right",
            ("correct the user and password in --bus, or pass --bus-credentials FILE"),
        ),
    ],
)
async def test_the_doctor_says_what_lacks_to_join(
    served: Served, text: str, ca: str, to_do: str
) -> None:
    url = served.url("reader").replace(password("reader"), password(text))
    trusted = str(served.ca) if ca == "right" else ca
    (finding,) = await asyncio.to_thread(
        lambda: list(examine_bus(url, LEDGER_ID, ENTRIES[-1], ca=trusted))
    )
    assert (finding.code, finding.to_do) == ("BusUnreachable", to_do)
    assert password(text) not in finding.text


async def test_events_are_followed_as_reader(served: Served) -> None:
    url, ca = served.url("reader"), str(served.ca)
    assert await newest(url, ca=ca) == len(ENTRIES)
    async with asyncio.timeout(60), aclosing(subscribe(url, since=1, ca=ca)) as ledger_events:
        assert [(await anext(ledger_events)).seq for _ in range(3)] == [1, 2, 3]
