"""A service starts, answers, drains on SIGTERM, and tells of its failure once."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client import CollectorRegistry

from tidegate.service.health import Health, serve_health

PATIENCE_S = 60
SERVICE = """
import asyncio, sys, time
from contextlib import suppress
from tidegate.errors import BusUnreachableError
from tidegate.service.running import run_service
from tidegate.service.settings import ServiceSettings

async def work(service):
    if "fail" in sys.argv: raise RuntimeError("a bug")
    if "stop" in sys.argv: raise BusUnreachableError("no bus")
    why = lambda: "" if service.stopping.is_set() else "not yet"
    service.health.add_readiness_check("watches", why)
    await service.stopping.wait()
    if "slow" in sys.argv: await asyncio.sleep(60)
    if "thread" in sys.argv: await asyncio.to_thread(time.sleep, 600)
    while "deaf" in sys.argv:
        with suppress(asyncio.CancelledError): await asyncio.sleep(60)

async def spin(service):
    await asyncio.sleep(0)
    while True: pass

body = spin if "busy" in sys.argv else work
sys.exit(run_service("test", ServiceSettings(log_format="json", drain_s=0.5), body))
"""


def start(*argv: str, flags: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [sys.executable, *flags, "-c", SERVICE, *argv]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stderr is not None
    line: dict[str, object] = json.loads(process.stderr.readline())
    return line


def get(port: object, path: str, method: str = "GET") -> tuple[int, str]:
    request = Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours, on loopback
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_service_answers_and_drains() -> None:
    with start() as process:
        started = said(process)
        port = started["health_port"]
        assert (started["event"], started["service"]) == ("started", "test")
        assert get(port, "/healthz") == (200, "ok\n")
        assert get(port, "/readyz") == (503, "watches: not yet\n")
        assert "process_cpu_seconds_total" in get(port, "/metrics")[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert said(process)["event"] in {"draining", "stopped"}


@pytest.mark.parametrize(
    ("argument", "event"), [("fail", "failed"), ("stop", "stopped")], ids=["bug", "error"]
)
def test_a_failure_is_reported_once_and_ends_with_one(argument: str, event: str) -> None:
    with start(argument) as process:
        assert said(process)["event"] == "started"
        log_line = said(process)
        assert process.wait(PATIENCE_S) == 1
        assert log_line["event"] == event
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_drain_that_takes_too_long_is_cut_off() -> None:
    with start("slow") as process:
        said(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 1


@pytest.mark.parametrize(
    ("hangs", "loop"),
    [
        ("thread", "uvloop"),
        ("deaf", "asyncio"),
        ("busy", "uvloop"),
        pytest.param("thread", "asyncio", marks=pytest.mark.slow),
        pytest.param("deaf", "uvloop", marks=pytest.mark.slow),
        pytest.param("busy", "asyncio", marks=pytest.mark.slow),
    ],
)
def test_whatever_hangs_a_signal_ends_the_process_within_the_drain_time(
    hangs: str, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_LOOP", loop)
    with start(hangs) as process:
        assert said(process)["event"] == "started"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 1
        assert process.stderr is not None
        assert "did not end within 0.5 s" in process.stderr.read()


def test_a_service_refuses_to_run_without_assertions() -> None:
    with start(flags=("-O",)) as process:
        assert process.wait(PATIENCE_S) == 2
        assert process.stderr is not None
        assert "-O is not supported" in process.stderr.read()


async def test_there_are_three_pages_for_two_methods() -> None:
    health = Health(CollectorRegistry())
    health.add_liveness_check("disk", lambda: "gone")
    health.add_readiness_check("bus", lambda: "")
    async with serve_health(health, "127.0.0.1", 0) as port:
        assert await asyncio.to_thread(get, port, "/healthz") == (503, "disk: gone\n")
        assert await asyncio.to_thread(get, port, "/readyz?x=1") == (503, "disk: gone\n")
        assert (await asyncio.to_thread(get, port, "/"))[0] == 404
        assert (await asyncio.to_thread(get, port, "/metrics", "POST"))[0] == 405
        assert await asyncio.to_thread(get, port, "/metrics", "HEAD") == (200, "")


async def test_a_service_is_not_ready_before_it_said_what_it_needs() -> None:
    health = Health(CollectorRegistry())
    assert (await health.page("/readyz"))[::2] == (503, b"service: starting\n")
    assert (await health.page("/healthz"))[0] == 200
    health.add_readiness_check("bus", lambda: "")
    assert (await health.page("/readyz"))[::2] == (200, b"ok\n")


async def test_nonsense_and_silence_do_not_stop_the_pages() -> None:
    health = Health(CollectorRegistry())
    async with serve_health(health, "127.0.0.1", 0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\xff\x00 nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 405 ")
        writer.close()
        _, silent = await asyncio.open_connection("127.0.0.1", port)
        silent.close()
        assert await asyncio.to_thread(get, port, "/healthz") == (200, "ok\n")
