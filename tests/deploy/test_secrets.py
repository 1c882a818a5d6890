"""No secret stands in what services and commands say while all that they speak to is there.

With everything away, tests/service/test_secrets.py asks the same.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import psycopg
import pytest
import yaml

from tests.deploy.nats_server import Served, nats_with_accounts, password
from tests.e2e.cast import job_of, make_queues, submit, until
from tests.outages.test_three_servers import api_server
from tests.parts.postgresql import Process, needed_binaries, owned_folder, owner, wait_for
from tidegate.cluster.supervisor import Program, Supervisor
from tidegate.kube.client import KubernetesClient
from tidegate.ports import free_ports

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
SERVICES = ("scheduler", "ingest", "actuator")
NATS = ("ingest", "scheduler", "actuator", "reader")
SQL, KUBE, TRACES = "sql/knows@it:'only", "only-kube-knows-1", "only-traces-know"
SECRETS = {SQL, quote(SQL, safe=""), KUBE, TRACES, *map(password, NATS)}
WRONG = "this-is-wrong-and-secret-too"
COMMANDS = (
    ("doctor", "--only", "ledger,bus", "--bus", "{bus}"),
    ("doctor", "--only", "bus", "--bus", "{wrong}"),
    ("doctor", "--only", "bus", "--bus", "{bus}?no/url@all"),
    ("doctor", "--nonsense={bus}", "{bus}"),
    ("show", "queues"),
    ("events", "--bus", "{wrong}"),
    ("ledger", "verify", "--witness", "{bus}"),
    ("ledger", "verify", "--witness", "{wrong}"),
    ("ledger", "recover", "--bus", "{wrong}"),
    ("ledger", "info", "-o", "json"),
)


@contextmanager
def guarded() -> Generator[str]:
    """Lend the URL of a PostgreSQL whose user has a password, without it: {} is its place."""
    programs = needed_binaries()
    with owned_folder() as folder:
        made = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust"]
        subprocess.run([programs / "initdb", *made], check=True, capture_output=True, **owner())
        with Process(programs, folder) as server:
            wait_for(server.url.format("postgres"))
            with psycopg.connect(server.url.format("postgres"), autocommit=True) as sql:
                text = SQL.replace("'", "''")
                sql.execute(f"ALTER USER tidegate PASSWORD '{text}'".encode())
        (folder / "hba").write_text("local all all scram-sha-256")
        with Process(programs, folder, f"hba_file={folder}/hba") as server:
            url = server.url.format("postgres")
            wait_for(url.replace("@", f":{quote(SQL, safe='')}@"))
            yield url


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Lend the URL of a collector of traces, and what it is sent."""
    sent = list[bytes]()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://tracer:{TRACES}@127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        server.server_close()


def environment(served: Served, service: str, port: int, **more: str) -> dict[str, str]:
    given = {
        **os.environ,
        "TIDEGATE_NATS_URL": served.url(service),
        "TIDEGATE_NATS_CA": str(served.ca),
        "TIDEGATE_API_TOKEN": KUBE,
        "TIDEGATE_HEALTH_PORT": str(port),
        "TIDEGATE_LOG_LEVEL": "debug",
        "TIDEGATE_LOG_FORMAT": "json",
    }
    return given | {f"TIDEGATE_{name.upper()}": value for name, value in more.items()}


@asynccontextmanager
async def running(
    folder: Path, served: Served, more: Mapping[str, str]
) -> AsyncGenerator[tuple[int, ...]]:
    """Run the three services; yield the ports of their pages."""
    ports, supervisor = free_ports(3), Supervisor(lambda _: None)
    try:
        for service, port in zip(SERVICES, ports, strict=True):
            mapping = environment(served, service, port, **more)
            command = [sys.executable, "-m", service]
            log = folder / f"{service}.log"
            await supervisor.start(
                Program(name=service, command=command, environment=mapping, log=log)
            )
        yield ports
    finally:
        await supervisor.stop()


async def work(api: KubernetesClient) -> None:
    """Have a Job started, so that every service has something to say."""
    await make_queues(api, {"team": "9"})
    await submit(api, "team", "one", cpu="1", seconds=1)

    async def is_started() -> bool:
        return not (await job_of(api, "team", "one"))["spec"].get("suspend")

    await until(is_started, "the Job starts", 120)


def pages(ports: tuple[int, ...]) -> str:
    return "".join(
        urlopen(f"http://127.0.0.1:{port}/{page}").read().decode()
        for port in ports
        for page in ("metrics", "healthz")
    )


def said_by_commands(folder: Path, served: Served, ledger: str) -> str:
    """Return what every command says; those that meet a wrong password wait for a while."""
    bus = served.url("reader")
    wrong = bus.replace(password("reader"), WRONG)
    given = os.environ | {"TIDEGATE_STATE": str(folder), "TIDEGATE_NATS_CA": str(served.ca)}

    def said(command: tuple[str, ...]) -> str:
        words = [word.format(bus=bus, wrong=wrong) for word in command]
        words += [] if "--only" in words and "bus" in words else ["--ledger", ledger]
        done = subprocess.run(
            [sys.executable, "-m", "tidegate.cli.main", *words],
            env=given, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert done.stdout + done.stderr, words
        return f"\n$ {command}\n{done.stdout}{done.stderr}"

    with ThreadPoolExecutor(len(COMMANDS)) as side_by_side:
        return "".join(side_by_side.map(said, COMMANDS))


def found_in(text: str) -> list[str]:
    """Return which secrets stand in a text: as given, as URLs bear them, or in base 64."""
    return [
        candidate_text
        for candidate_text in (*SECRETS, WRONG)
        if candidate_text in text
        or base64.b64encode(candidate_text.encode()).decode().rstrip("=")[:-1] in text
    ]


@pytest.mark.slow
async def test_no_secret_is_in_what_is_logged_measured_traced_or_printed(tmp_path: Path) -> None:
    with nats_with_accounts(tmp_path / "nats") as served, guarded() as bare, collector() as traced:
        url, sent = traced
        in_user = bare.replace("@", f":{quote(SQL, safe='')}@")
        in_query = f"{bare}&password={quote(SQL, safe='')}"
        async with api_server(tmp_path / "kubeconfig") as api:
            config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
            more = {
                "ledger": in_user,
                "traces": url,
                "api_url": config["clusters"][0]["cluster"]["server"],
            }
            async with running(tmp_path, served, more) as ports:
                await work(api)
                measured = await asyncio.to_thread(pages, ports)
                printed = await asyncio.to_thread(said_by_commands, tmp_path, served, in_query)
        logged = "".join((tmp_path / f"{service}.log").read_text() for service in SERVICES)
    assert "turn" in logged
    assert "ChainIntact" in printed
    assert "StreamsInPlace" in printed
    assert "tidegate" in measured
    assert sent, "nothing was traced"
    text = b"".join(sent).decode("latin-1")
    seen = {"logs": logged, "metrics": measured, "traces": text, "commands": printed}
    assert {where: found_in(text) for where, text in seen.items()} == {where: [] for where in seen}


@pytest.mark.slow
def test_a_credentials_file_that_is_wrong_is_not_quoted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        file = tmp_path / "creds"
        seed = "SUAONLYTHEFILEKNOWS" + "A" * 39
        file.write_text(f"-----BEGIN NATS USER JWT-----\neyJ.x.only\n------\n{seed}\n")
        done = subprocess.run(
            [sys.executable, "-m", "scheduler"],
            env=os.environ
            | {
                "TIDEGATE_NATS_URL": f"nats://127.0.0.1:{silent.getsockname()[1]}",
                "TIDEGATE_NATS_CREDENTIALS": str(file),
                "TIDEGATE_LEDGER": str(tmp_path / "ledger.db"),
            },
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert seed not in done.stderr + done.stdout
