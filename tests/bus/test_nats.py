"""What only a server can do: die, come back, lose its tail, refuse a configuration."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.bus.worlds import NAMES, OBSERVED, entries, nats_world, read_all, tell, texts
from tidegate.bus.client import connect
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.wire.client import QuickClient
from tidegate.bus.jetstream.wire.requests import JetStream, OutgoingMessage
from tidegate.bus.streams import StreamOptions
from tidegate.bus.witness import Witness
from tidegate.contracts.chain import START, digest_of
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.contracts.entry import Entry, Position
from tidegate.errors import BusRefusedError, BusUnreachableError

pytestmark = [pytest.mark.timeout(180), pytest.mark.real]
STARTER = """
import asyncio, pathlib, sys
from tidegate.bus.client import connect
from tidegate.bus.embedded import embedded_server
async def main():
    async with embedded_server(pathlib.Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def server_of(folder: Path) -> psutil.Process:
    config = str(folder / "server.conf")
    processes = [
        process
        for process in psutil.process_iter(["cmdline", "name"])
        if process.info["name"] == "nats-server" and config in (process.info["cmdline"] or [])
    ]
    assert len(processes) == 1
    return processes[0]


async def test_a_server_that_ends_takes_its_processes_along_and_keeps_its_streams(
    tmp_path: Path,
) -> None:
    async with nats_world(tmp_path) as world:
        await tell(world.bus.observation_publisher(), "a")
        (first,) = await read_all(world.bus.observation_reader(), Position(), 1)
        process = server_of(tmp_path)
    assert not process.is_running()
    async with nats_world(tmp_path) as world:
        (again,) = await read_all(world.bus.observation_reader(), Position(), 1)
    assert again == first


def test_a_server_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith("nats://tidegate:")
        process = server_of(tmp_path)
        starter.kill()
    process.wait(60)


async def test_a_server_on_loopback_asks_for_a_password_that_its_owner_alone_may_read(
    tmp_path: Path,
) -> None:
    async with embedded_server(tmp_path) as url:
        login, _, place = url.removeprefix("nats://").rpartition("@")
        for wrong in (f"nats://{place}", f"nats://tidegate:guessed@{place}"):
            with pytest.raises(BusUnreachableError) as refused:
                async with open_bus(wrong, cluster="local", name="t", patience_s=1):
                    pass
            assert "guessed" not in str(refused.value)
        for secret in ("password", "server.conf"):
            assert (tmp_path / secret).stat().st_mode & 0o777 == 0o600
    async with embedded_server(tmp_path) as again:
        assert login in again, "a restart keeps it"


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    async with embedded_server(tmp_path / "a") as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(BusUnreachableError, match="address already in use"):
            async with embedded_server(tmp_path / "b", port):
                pass


async def test_readers_and_writers_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        reader, port, publisher = (
            bus.observation_reader(),
            bus.observation_publisher(),
            bus.event_publisher(),
        )
        _, counts = await publisher.last_published(Position())
        await publisher.publish("led", counts, entries(1, 3))
        await tell(port, "a", "b")
        at = (await read_all(reader, Position(), 2))[-1].at
        server_of(tmp_path).kill()  # and it is started again on the same port
        await tell(port, "c")
        assert texts(await read_all(reader, at, 1)) == ["c"]
        assert await publisher.last_published(counts) == (3, counts)


async def test_a_stream_that_lost_its_tail_is_made_anew(tmp_path: Path) -> None:
    async with nats_world(tmp_path) as world:
        await tell(world.bus.observation_publisher(), "a", "b")
        read = await read_all(world.bus.observation_reader(), Position(), 2)
        ahead = Position(read[-1].at.incarnation, 9)
        assert await world.bus.observation_reader().pull(ahead, count_max=9, wait_s=0.1) == []
        assert await world.kept(NAMES.observations) == 0
        await tell(world.bus.observation_publisher(), "c")
        (message,) = await read_all(world.bus.observation_reader(), ahead, 1)
    assert message.payload == b"c"
    assert message.at.incarnation > ahead.incarnation


async def test_the_newest_event_is_a_witness_and_a_cloud_event(tmp_path: Path) -> None:
    async with nats_world(tmp_path) as world:
        publisher = world.bus.event_publisher()
        _, counts = await publisher.last_published(Position())
        await publisher.publish("led", counts, entries(1, 3))
        newest = await world.js.newest_message(NAMES.events, "tidegate.local.event.>")
    assert newest is not None
    headers = newest.headers or {}
    assert headers["Tidegate-Hash"] == entries(3, 3)[0].hash.hex()
    assert (headers["Tidegate-Epoch"], headers["Tidegate-Turn"]) == ("1", "1")
    assert (headers["ce-id"], headers["ce-type"]) == ("led/3", "dev.tidegate.WorkloadAdmitted")
    assert (headers["ce-subject"], headers["ce-source"]) == ("ns/job-x", "/tidegate/local/0")
    assert headers["ce-time"] == "2001-09-09T01:46:40.000003Z"


async def test_a_client_hears_only_what_it_asked_for(tmp_path: Path) -> None:
    admitted = b'{"type":"WorkloadAdmitted/1","at_us":1,"workload":"ns/x","cluster_queue":"q"}'
    requeued = admitted.replace(b"Admitted", b"Requeued")
    async with embedded_server(tmp_path) as url:
        async with open_bus(url, cluster="local", name="tests") as bus:
            await bus.ensure_streams(StreamOptions())
            _, counts = await bus.event_publisher().last_published(Position())
            actual_entries = list[Entry]()
            for n, kind, text in (
                (1, "WorkloadRequeued", requeued.decode()),
                (2, "WorkloadAdmitted", admitted.decode()),
            ):
                subject = f"tidegate.local.event.{kind}.q.ns.x"
                row = Entry(0, n, 1, 1, 1, "local", kind, subject, text, b"")
                before = actual_entries[-1].hash if actual_entries else START
                actual_entries.append(replace(row, hash=digest_of(before, row)))
            await bus.event_publisher().publish("led", counts, actual_entries)
        async with connect(url) as client:
            assert await client.witness() == Witness("led", 2, actual_entries[-1].hash)
            async for heard in client.subscribe("WorkloadAdmitted", cluster_queue="q", after=0):
                assert isinstance(heard.event, WorkloadAdmitted)
                assert (heard.seq, heard.event.workload) == (2, "ns/x")
                break


async def test_what_belongs_to_no_ledger_is_passed_over(tmp_path: Path) -> None:
    async with nats_world(tmp_path) as world:
        feed, publisher = world.bus.event_feed(), world.bus.event_publisher()
        _, counts = await publisher.last_published(Position())
        await world.js.publish(OutgoingMessage("tidegate.local.event.X._._._", b"{}", {}))
        moved = Position(counts.incarnation, 1)
        await publisher.publish("led", moved, entries(1, 1))
        async for message in feed.follow(0):
            assert (message.ledger_id, message.seq) == ("led", 1)
            break


async def test_streams_are_changed_to_what_is_wanted_or_refused(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        await bus.ensure_streams(StreamOptions(events_bytes=10**6))
        client = Client()
        await client.connect(url)
        js = JetStream(client)
        stream_info = await js.stream_info(NAMES.events)
        assert stream_info is not None
        assert stream_info.config["max_bytes"] == 10**6
        await js.request(f"STREAM.DELETE.{NAMES.events}", {}, msgspec.Raw)
        other = {"name": NAMES.events, "subjects": ["tidegate.*.event.>"], "storage": "memory"}
        await js.request(f"STREAM.CREATE.{NAMES.events}", other, msgspec.Raw)
        with pytest.raises(BusRefusedError):
            await bus.ensure_streams(StreamOptions())
        await client.close()


async def test_what_fails_on_one_message_ends_no_reading(tmp_path: Path) -> None:
    taken, refused, done = list[bytes](), list[str](), asyncio.Event()

    def take(message: Msg) -> None:
        if message.data == b"bad":
            raise ValueError("not understood")
        taken.append(message.data)
        done.set()

    async def refuse(error: Exception) -> None:
        refused.append(str(error))

    async with embedded_server(tmp_path) as url:
        client = QuickClient()
        await client.connect(url, error_cb=refuse)
        await client.subscribe_directly("news", take)
        for data in (b"bad", b"good"):
            await client.publish("news", data)
        await asyncio.wait_for(done.wait(), 10)
        await client.close()
    assert (refused, taken) == (["not understood"], [b"good"])


async def test_a_connection_that_the_server_closed_is_made_anew(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        outlet, other = bus.observation_publisher(), bus.observation_publisher()
        with pytest.raises(BusUnreachableError):  # "maximum control line exceeded"
            await outlet.publish(f"{OBSERVED}.{'y' * 5_000}", b"a", "s:1")
        await tell(other, "b")
        assert texts(await read_all(bus.observation_reader(), Position(), 1)) == ["b"]


async def test_without_streams_a_teller_gives_up_in_time(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=0.5) as bus,
    ):
        with pytest.raises(BusUnreachableError):
            await bus.observation_publisher().publish(OBSERVED, b"a", "s:1")


async def test_streams_that_are_deleted_are_made_again_by_each_reader_and_publisher(
    tmp_path: Path,
) -> None:
    async with nats_world(tmp_path) as world:
        reader, publisher = world.bus.observation_reader(), world.bus.event_publisher()
        _, counts = await publisher.last_published(Position())
        await tell(world.bus.observation_publisher(), "a")
        (old,) = await read_all(reader, Position(), 1)
        for stream in (NAMES.observations, NAMES.events):
            await world.js.request(f"STREAM.DELETE.{stream}", {}, msgspec.Raw)
        telling = asyncio.create_task(tell(world.bus.observation_publisher(), "b"))
        (new,) = await read_all(reader, old.at, 1)
        await telling
        assert (new.payload, new.at.seq) == (b"b", 1)
        last, anew = await publisher.last_published(counts)
        assert (last, anew.seq) == (0, 0)
        assert anew.incarnation > counts.incarnation


async def test_a_request_without_a_responder_fails_in_time() -> None:
    with pytest.raises(BusUnreachableError, match="No connection to NATS"):
        async with open_bus("nats://127.0.0.1:1", cluster="local", name="t", patience_s=0.5):
            pass


async def test_a_disk_too_small_for_a_stream_is_refused_with_what_to_change(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        with pytest.raises(
            BusRefusedError, match=r"events is to hold 1152921504606846976 B\. .*disk"
        ):
            await bus.ensure_streams(StreamOptions(events_bytes=1 << 60))
