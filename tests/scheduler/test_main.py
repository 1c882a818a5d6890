"""The scheduler as a process on a real server and a file: it drains, dies and continues."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import nats
import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.scheduler.stage import QUEUES, first_round
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.keys import CLUSTER, LEDGER
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import LedgerOpened
from tidegate.contracts.subjects import observed_subject

pytestmark = [pytest.mark.timeout(300), pytest.mark.real]


class Running:
    """One scheduler process; ended in any case."""

    def __init__(self, url: str, folder: Path, *flags: str) -> None:
        command = [sys.executable, "-m", "scheduler", "--log-format", "json"]
        command += ["--nats-url", url, "--ledger", str(folder / "ledger.db")]
        command += ["--holder-file", str(folder / "holder")]
        self.process = subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True)

    async def log_line(self, event: str) -> dict[str, object]:
        """Return the next line of its log that says this."""
        assert self.process.stderr is not None
        while line := await asyncio.to_thread(self.process.stderr.readline):
            log_line: dict[str, object] = json.loads(line)
            if log_line["event"] == event:
                return log_line
        raise AssertionError(f"it ended without saying {event}")

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return await asyncio.to_thread(self.process.wait)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


def entries(folder: Path) -> list[Entry]:
    engine = open_engine(str(folder / "ledger.db"), read_only=True)
    try:
        return list(SqlLedger(engine).read())
    finally:
        engine.dispose()


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncGenerator[tuple[str, NatsBus], None]:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests") as made,
    ):
        await made.ensure_streams(StreamOptions())
        await made.register().claim(CLUSTER, "uid-1")  # as ingest does
        yield url, made


FIRST_ENTRIES = 7
"""As many as a ledger has behind the first round: nothing is written after them."""


async def say_first_round(bus: NatsBus) -> None:
    port, subject = bus.observation_publisher(), observed_subject("local", QUEUES, "", "any")
    for number, observation in enumerate(first_round()):
        await port.publish(subject, encode(observation), f"test:{number}")


async def until_published(bus: NatsBus, count: int) -> None:
    """Follow EVENTS until so many entries came, each the next."""
    expected = 0
    async for message in bus.event_feed().follow(0):
        expected += 1
        assert message.seq == expected
        if expected >= count:
            return


async def test_a_drain_leaves_nothing_undone(tmp_path: Path, bus: tuple[str, NatsBus]) -> None:
    url, made = bus
    running = Running(url, tmp_path)
    try:
        await running.log_line("leads")
        await say_first_round(made)
        await until_published(made, 5)
        assert await running.end(signal.SIGTERM) == 0
    finally:
        running.close()
    kept = entries(tmp_path)
    assert (await made.event_feed().newest())[1] == kept[-1].seq
    assert [entry.type for entry in kept[:2]] == ["LedgerOpened", "PolicyConfigured"]


async def test_a_kill_loses_nothing(tmp_path: Path, bus: tuple[str, NatsBus]) -> None:
    url, made = bus
    first = Running(url, tmp_path)
    try:
        await first.log_line("leads")
        await say_first_round(made)
        await until_published(made, 3)  # it has begun to read
        await first.end(signal.SIGKILL)
    finally:
        first.close()
    second = Running(url, tmp_path)
    try:
        assert (await second.log_line("leads"))["epoch"] == 3  # 2 gave up the lease of the dead
        await until_published(made, 5)
        assert await second.end(signal.SIGTERM) == 0
    finally:
        second.close()
    assert [entry.type for entry in entries(tmp_path)].count("ClusterQueueDefined") == 1


@pytest.mark.parametrize("verb", ["DELETE", pytest.param("PURGE", marks=pytest.mark.slow)])
async def test_events_that_are_lost_are_filled_again_though_nothing_happens(
    tmp_path: Path, bus: tuple[str, NatsBus], verb: str
) -> None:
    url, made = bus
    running = Running(url, tmp_path)
    try:
        await running.log_line("leads")
        await say_first_round(made)
        await until_published(made, FIRST_ENTRIES)
        await lose_events(url, verb)
        fields = await running.log_line("EVENTS was lost: it is filled again")
        assert fields["first"] == 1
        await until_published(made, FIRST_ENTRIES)
        assert await running.end(signal.SIGTERM) == 0
    finally:
        running.close()


async def lose_events(url: str, verb: str) -> None:
    client = await nats.connect(url)
    answer = await client.request(f"$JS.API.STREAM.{verb}.tidegate_local_events", b"{}")
    assert json.loads(answer.data)["success"]
    await client.close()


async def test_another_configuration_is_in_the_ledger(
    tmp_path: Path, bus: tuple[str, NatsBus]
) -> None:
    path = tmp_path / "kueue.yaml"
    path.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "manageJobsWithoutQueueName: true\nleaderElection: {leaderElect: true}\n"
    )
    running = Running(bus[0], tmp_path, "--config", str(path))
    try:
        warning = await running.log_line(
            "leaderElection is not used: the ledger's lease decides which scheduler leads; "
            "see --lease-s."
        )
        assert warning["level"] == "warning"
        await running.log_line("leads")
        assert await running.end(signal.SIGTERM) == 0
    finally:
        running.close()
    assert '"manage_jobs_without_queue_name":true' in entries(tmp_path)[1].payload


def test_help_and_nonsense_need_nothing() -> None:
    command = [sys.executable, "-m", "scheduler"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "--ledger TEXT" in helped.stdout
    wrong = subprocess.run(
        [*command, "--lease-s", "0"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "lease_s" in wrong.stderr


async def test_a_ledger_says_which_cluster_and_which_bus_it_belongs_to(
    tmp_path: Path, bus: tuple[str, NatsBus]
) -> None:
    url, made = bus
    running = Running(url, tmp_path)
    try:
        await running.log_line("leads")
        assert await running.end(signal.SIGTERM) == 0
    finally:
        running.close()
    opened = decode(entries(tmp_path)[0].payload)
    assert isinstance(opened, LedgerOpened)
    assert (opened.cluster_uid, opened.streams) == ("uid-1", await made.register().created_at())
    assert await made.register().read(LEDGER) == opened.ledger_id


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (CLUSTER, "another cluster"),
        pytest.param(LEDGER, "the events of another ledger", marks=pytest.mark.slow),
    ],
)
async def test_a_bus_of_another_cluster_or_ledger_is_refused_with_a_sentence(
    key: str, why: str, tmp_path: Path, bus: tuple[str, NatsBus]
) -> None:
    url, made = bus
    for standing in ("", "another owner"):
        if standing:
            await made.register().put(key, standing)
        running = Running(url, tmp_path)
        try:
            if standing:
                assert why in str((await running.log_line("does not lead"))["why"])
            else:
                await until_published(made, 2)
                await say_first_round(made)
                await until_published(made, 5)
        finally:
            running.close()
    assert {entry.epoch for entry in entries(tmp_path)} == {1}, "nothing was written after it"
