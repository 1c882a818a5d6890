"""A service's life as a process: start, signals, drain, and the one place that catches all.

A service is a coroutine that works until ``Service.stopping`` is set and then finishes what it
began. Whatever escapes it is logged once and ends the process with 1: the next start continues
from the ledger or from a list.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random, SystemRandom
from types import FrameType
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from tidegate.errors import TidegateError
from tidegate.service.health import Health, serve_health
from tidegate.service.logs import configure_logs, get_log
from tidegate.service.loop import loop_factory, tune_garbage_collection
from tidegate.service.settings import ServiceSettings
from tidegate.service.tracing import OFF, Tracing, open_tracing

SOFT = 0.8
"""The part of the drain time for tasks that end by themselves; the rest is for cancelled ones."""


@dataclass(slots=True)
class Service:
    """What the process gives to a service; all that is random or a name comes from here."""

    name: str
    health: Health
    registry: CollectorRegistry
    random: Random
    session: str  # this process and no other, in any life: "<name>-<host>-<pid>-<16 hex digits>"
    tracing: Tracing = OFF
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


async def until_stopped(
    service: Service,
    work: Coroutine[Any, Any, None],
    drain: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run ``work``; cancel it when the service is asked to stop, after ``drain`` if there is one.

    What ``work`` raises before that is raised here.
    """
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(service.stopping.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        elif drain is not None:
            await drain()
    finally:
        for task in (working, stopping):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


Body = Callable[[Service], Awaitable[None]]


def run_service(name: str, settings: ServiceSettings, body: Body) -> int:
    """Run ``body`` to its end or until SIGTERM or SIGINT; return the process's exit code.

    0 after a drain, 1 after a failure. A second signal stops at once, and whatever happens, the
    process ends within the drain time after the first.
    """
    if not __debug__:
        sys.stderr.write(f"{name}: python -O is not supported: assertions are promises here.\n")
        return 2
    configure_logs(name, settings.log_format, settings.log_level)
    ending = ShutdownTimer(name, settings.drain_s)
    try:
        with open_tracing(name, settings.traces, settings.traces_share) as tracing:
            tune_garbage_collection()
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(_run_until_stopped(_new_service(name, tracing), settings, body, ending))
    except TidegateError as error:
        get_log("main").error("stopped", error=str(error), kind=type(error).__name__)
        return 1
    except asyncio.CancelledError:
        get_log("main").error("stopped before all was finished", drain_s=settings.drain_s)
        return 1
    except Exception:  # noqa: BLE001 - the top of a service: logged once, then it ends
        get_log("main").exception("failed")
        return 1
    return 0


def _new_service(name: str, tracing: Tracing) -> Service:
    random = SystemRandom()
    # A second series beside each counter, which is not needed.
    disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no types
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    session = f"{name}-{socket.gethostname()}-{os.getpid()}-{random.getrandbits(64):016x}"
    return Service(name, Health(registry), registry, random, session, tracing)


async def _run_until_stopped(
    service: Service, settings: ServiceSettings, body: Body, ending: ShutdownTimer
) -> None:
    log = get_log("main")
    loop = asyncio.get_running_loop()
    async with serve_health(service.health, settings.health_host, settings.health_port) as port:
        working = asyncio.ensure_future(body(service))

        def stop() -> None:
            ending.start()
            loop.call_soon_threadsafe(_cancel_work, service, working)

        with on_signals(stop):
            log.info("started", session=service.session, health_port=port)
            try:
                await _await_work(service, working, settings.drain_s)
            finally:
                ending.start()  # a thread of what failed may hang, too
        log.info("stopped")


async def _await_work(service: Service, working: asyncio.Future[None], drain_s: float) -> None:
    """Wait for the end of the work; once it is asked to stop, for most of the drain time."""
    stopping = asyncio.ensure_future(service.stopping.wait())
    try:
        waited: set[asyncio.Future[Any]] = {working, stopping}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            get_log("main").info("draining", drain_s=drain_s)
            await asyncio.wait({working}, timeout=SOFT * drain_s)
    finally:
        stopping.cancel()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await stopping
    await working


def _cancel_work(service: Service, working: asyncio.Future[None]) -> None:
    if service.stopping.is_set():
        working.cancel()
    service.stopping.set()


class ShutdownTimer:
    """Ends this process some seconds after it was first asked to stop, whatever its loop is doing.

    A loop that is busy hears no signal, a task may swallow its cancellation, and a thread that
    waits for a database cannot be stopped at all.
    """

    def __init__(self, name: str, drain_s: float) -> None:
        self._name, self._drain_s = name, drain_s
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        """Begin to count; a second call changes nothing."""
        if self._timer is None:
            self._timer = threading.Timer(self._drain_s, self._exit_process)
            self._timer.daemon = True
            self._timer.start()

    def _exit_process(self) -> None:
        sys.stderr.write(f"{self._name}: did not end within {self._drain_s:g} s, and is ended.\n")
        sys.stderr.flush()
        os._exit(1)


@contextmanager
def on_signals(callback: Callable[[], None]) -> Generator[None]:
    """Call ``callback`` at each SIGTERM and SIGINT until the block ends, in a busy loop, too."""

    def handle_signal(_number: int, _frame: FrameType | None) -> None:
        callback()

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, handle_signal) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
