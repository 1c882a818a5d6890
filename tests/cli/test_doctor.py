"""What the doctor says of streams, of installed objects and of services."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from nats.aio.client import Client

from tests.bus.worlds import entries
from tests.cli.stage import staged
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream import inspection
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import StreamOptions, stream_names
from tidegate.cli.doctor.examining import examine_bus, examine_cluster
from tidegate.cli.objects.api_client import open_api
from tidegate.contracts.entry import Position

__all__ = ["staged"]

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cohorts.kueue.x-k8s.io"

NAMES = stream_names("local")


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[str]:
    """Lend a server with all streams and three events of ledger `led`."""
    async with embedded_server(tmp_path) as url:
        async with open_bus(url, cluster="local", name="tests", patience_s=5) as opened:
            await opened.ensure_streams(StreamOptions())
            publisher = opened.event_publisher()
            _, counts = await publisher.last_published(Position(0, 0))
            await publisher.publish("led", counts, entries(1, 3))
        yield url


async def codes(url: str, ledger_id: str = "led", head: int = 3, end: int = 0) -> list[str]:
    (last,) = entries(head, head)
    findings = await asyncio.to_thread(
        lambda: list(examine_bus(url, ledger_id, last, end=lambda: end))
    )
    return [finding.code for finding in findings]


@pytest.mark.real
async def test_streams_that_are_as_wanted_are_well(bus: str) -> None:
    assert await codes(bus) == ["StreamsInPlace", "EventsCaughtUp"]


@pytest.mark.real
@pytest.mark.parametrize("apart_s", [-3_600, 0, 3_600])
async def test_a_clock_of_nats_that_differs_is_named(
    bus: str, monkeypatch: pytest.MonkeyPatch, apart_s: int
) -> None:
    here = SimpleNamespace(time_ns=lambda: time.time_ns() - apart_s * 1_000_000_000)
    monkeypatch.setattr(inspection, "time", here)
    assert ("BusClockDiffers" in await codes(bus)) is bool(apart_s)


@pytest.mark.real
async def test_events_are_compared_with_the_ledger(bus: str) -> None:
    assert await codes(bus, head=4) == ["StreamsInPlace", "EventsBehind"]
    assert await codes(bus, head=2) == ["StreamsInPlace", "LedgerLostTail"]
    assert await codes(bus, head=2, end=3) == ["StreamsInPlace", "EventsCaughtUp"]  # written since
    assert await codes(bus, "other") == ["StreamsInPlace", "OtherLedger"]


@pytest.mark.real
async def test_streams_that_are_missing_or_differ_are_named(bus: str) -> None:
    client = Client()
    await client.connect(bus)
    js = JetStream(client)
    await js.request(f"STREAM.DELETE.{stream_names('local').observations}", {}, msgspec.Raw)
    stream_info = await js.stream_info(NAMES.events)
    assert stream_info is not None
    changed = {**stream_info.config, "discard": "new", "max_bytes": 2**20}
    await js.request(f"STREAM.UPDATE.{stream_names('local').events}", changed, msgspec.Raw)
    await client.close()
    assert await codes(bus) == ["StreamMissing", "StreamDiffers", "EventsCaughtUp"]


def test_a_crd_that_was_changed_or_is_anothers_is_named(staged: str) -> None:
    with open_api(staged) as api:
        assert "CrdsInPlace" in {finding.code for finding in examine_cluster(api)}
        api.request("PATCH", CRD, {"spec": {"names": {"shortNames": ["other"]}}})
        assert "CrdsDiffer" in {finding.code for finding in examine_cluster(api)}
        api.request("PATCH", CRD, {"metadata": {"labels": None}})
        assert "CrdsForeign" in {finding.code for finding in examine_cluster(api)}
