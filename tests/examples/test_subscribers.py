"""Subscribers in Go and JavaScript tell each event once, also what the stream has no longer."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from urllib.request import urlopen

import nats
import pytest

from tests.parts.nats.sites import publish, two_accounts
from tests.parts.postgresql import wait_until
from tests.parts.sample import ENTRIES, TURNS, filled, published
from tests.store.test_two_partitions import sealed
from tidegate.bus.embedded import FOLDERS, find_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cli.sample.ledger import LEDGER_ID
from tidegate.cluster.go.building import find_go
from tidegate.cluster.go.credentials import write_credentials
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Position
from tidegate.ports import free_ports

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SHOWN = [entry.seq for entry in ENTRIES if entry.type in {"WorkloadAdmitted", "WorkloadPreempted"}]
STREAM = "tidegate_local_events"
pytestmark = pytest.mark.real


@pytest.fixture
async def url(tmp_path: Path) -> AsyncGenerator[str, None]:
    """A server whose EVENTS hold the sample."""
    async with published(tmp_path / "nats") as url:
        yield url


def fetched(command: list[str], folder: Path, env: dict[str, str], what: str) -> None:
    """Fetch an example's modules; where that cannot be, skip and say why."""
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        pytest.skip(
            f"{what} could not be fetched ({done.stderr[-300:].strip()}): the first run needs its "
            "registry."
        )


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How the Go example is run."""
    text = find_go()
    if text is None:
        pytest.skip("Go is missing to compile the example: install it (https://go.dev/dl).")
    folder, binary = EXAMPLES / "go", tmp_path_factory.mktemp("go") / "events"
    # As the control plane is built: Go's own packages are compiled already.
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-trimpath -mod=readonly"}
    fetched([text, "mod", "download"], folder, env, "The Go example's modules")
    subprocess.run([text, "build", "-o", binary, "."], cwd=folder, env=env, check=True)
    subprocess.run([text, "vet", "."], cwd=folder, env=env, check=True)
    return [str(binary)]


@pytest.fixture(scope="module")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """How the JavaScript example is run."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node.js is missing to run the example: install it (https://nodejs.org).")
    folder = tmp_path_factory.mktemp("javascript")
    for file in (EXAMPLES / "javascript").glob("*.*"):
        shutil.copy(file, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    fetched(command, folder, dict(os.environ), "The JavaScript example's packages")
    return [node, str(folder / "events.mjs")]


@pytest.fixture(params=["go", "javascript"])
def client(request: pytest.FixtureRequest) -> list[str]:
    names: list[str] = request.getfixturevalue(request.param)
    return names


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The URL of ``tidegate serve`` over the sample's ledger."""
    ledger, port = tmp_path / "ledger.db", free_ports(1)[0]
    with filled(f"sqlite:///{ledger}", TURNS):
        pass
    words = ("serve", "--ledger", str(ledger), "--port", str(port))
    log = (tmp_path / "serve.log").open("wb")
    command = [sys.executable, "-m", "tidegate.cli.main", *words]
    with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(url), "tidegate serve did not come up", within_s=120)
            yield url
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/readyz", timeout=5) as answer:  # noqa: S310 - our own http
            return bool(answer.status == 200)
    except OSError:
        return False


async def lines(command: list[str], count: int, **variables: str) -> list[str]:
    """Return the first lines that a subscriber prints, and end it."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, **variables}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            return [(await process.stdout.readline()).decode() for _ in range(count)]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@pytest.fixture
async def over_tls(tmp_path: Path) -> AsyncGenerator[tuple[str, Path], None]:
    """A server over TLS whose EVENTS hold the sample, and its certificate."""
    async with published(tmp_path / "nats"):
        pass
    write_credentials(tmp_path, "https://127.0.0.1")
    (port,) = free_ports(1)
    config = tmp_path / "tls.conf"
    store = tmp_path / "nats" / FOLDERS[0]
    config.write_text(
        f'host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: "{store}" }}\n'
        f'tls {{ cert_file: "{tmp_path}/tls.crt", key_file: "{tmp_path}/tls.key" }}\n'
    )
    process = await asyncio.create_subprocess_exec(
        find_server(), "-c", str(config), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while b"Server is ready" not in await process.stderr.readline():
                assert process.returncode is None
        yield f"tls://127.0.0.1:{port}", tmp_path / "tls.crt"
    finally:
        process.terminate()
        await process.communicate()


def seqs(names: list[str]) -> list[int]:
    return [int(line.split()[1].rpartition("/")[2]) for line in names]


async def test_a_subscriber_tells_admissions_and_preemptions(client: list[str], url: str) -> None:
    names = await lines([*client, url], len(SHOWN))
    assert seqs(names) == SHOWN
    assert any(" WorkloadPreempted " in line and " by b/job-" in line for line in names)
    later = [seq for seq in SHOWN if seq >= 43]
    assert seqs(await lines([*client, url, "43"], len(later))) == later


@pytest.fixture
async def two(url: str) -> str:
    """A server whose EVENTS of partitions 0 and 1 hold the sample, each under a ledger's id."""
    async with open_bus(url, cluster="local", name="test", partition=1) as bus:
        await bus.ensure_streams(StreamOptions())
        await bus.register().claim("ledger", LEDGER_ID)
        await bus.register().claim("ledger-1", "second")
        _, counts = await bus.event_publisher().last_published(Position())
        turns = sealed(1, [[decode(entry.payload) for entry in turn] for turn in TURNS])
        entries = [entry for turn in turns for entry in turn]
        await bus.event_publisher().publish("second", counts, entries)
    return url


@pytest.mark.parametrize(
    ("since", "variables", "wanted"),
    [
        ((), {}, {LEDGER_ID: 1, "second": 1}),
        (("43",), {}, {LEDGER_ID: 43, "second": 43}),
        (("0=43,1=70",), {}, {LEDGER_ID: 43, "second": 70}),
        (("1=70",), {}, {LEDGER_ID: 1, "second": 70}),
        (("43",), {"TIDEGATE_PARTITION": "1"}, {"second": 43}),
        ((), {"TIDEGATE_PARTITION": "0"}, {LEDGER_ID: 1}),
    ],
)
async def test_a_subscriber_tells_all_partitions_or_one(
    client: list[str],
    two: str,
    since: tuple[str, ...],
    variables: dict[str, str],
    wanted: dict[str, int],
) -> None:
    mapping = {ledger: [seq for seq in SHOWN if seq >= first] for ledger, first in wanted.items()}
    count = sum(map(len, mapping.values()))
    printed = await lines([*client, two, *since], count, **variables)
    names = [line.split()[1].rpartition("/")[0] for line in printed]
    assert {
        text: [seq for seq, name in zip(seqs(printed), names, strict=True) if name == text]
        for text in wanted
    } == mapping


async def test_a_hole_in_the_stream_is_filled_from_the_ledger_or_reported(
    client: list[str], url: str, server: str
) -> None:
    connection = await nats.connect(url)
    try:
        for seq in (SHOWN[2] - 1, SHOWN[2], SHOWN[2] + 1, SHOWN[-1]):
            await connection.jetstream().delete_msg(STREAM, seq)
    finally:
        await connection.close()
    assert seqs(await lines([*client, url], len(SHOWN), TIDEGATE_SERVER=server)) == SHOWN
    process = await asyncio.create_subprocess_exec(
        *client, url, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(120):
        out, data = await process.communicate()
    assert process.returncode == 1
    assert f"events {SHOWN[2] - 1} to {SHOWN[2] + 1} are missing" in data.decode()
    assert seqs(out.decode().splitlines()) == SHOWN[:2]


async def test_a_subscriber_reads_over_tls_from_a_server_of_its_authority(
    client: list[str], over_tls: tuple[str, Path]
) -> None:
    url, authority = over_tls
    names = await lines([*client, url], len(SHOWN), TIDEGATE_NATS_CA=str(authority))
    assert seqs(names) == SHOWN


async def test_a_subscriber_joins_with_a_credentials_file(
    client: list[str], tmp_path: Path
) -> None:
    async with two_accounts(tmp_path) as site:
        await publish(site)
        reader = "_INBOX_tidegate_local_client"
        how = {"TIDEGATE_NATS_CREDENTIALS": str(site.reader), "TIDEGATE_NATS_INBOX": reader}
        assert seqs(await lines([*client, site.url], len(SHOWN), **how)) == SHOWN


async def test_a_subscriber_refuses_a_server_of_another_authority(
    client: list[str], over_tls: tuple[str, Path], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_credentials(other, "https://127.0.0.1")
    env = {**os.environ, "TIDEGATE_NATS_CA": str(other / "tls.crt")}
    process = await asyncio.create_subprocess_exec(
        *client,
        over_tls[0],
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        out, data = await process.communicate()
    assert (process.returncode != 0, out) == (True, b"")
    assert "certificate" in data.decode().lower()
