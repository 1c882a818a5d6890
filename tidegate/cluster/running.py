"""The three services and their bus, as children of one process: what ``tidegate up`` runs.

Services find each other through the environment only, as they do in a cluster.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from tidegate.bus.embedded import embedded_server
from tidegate.cluster.supervisor import Program, Supervisor
from tidegate.errors import TidegateError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.identity import cluster_uid
from tidegate.ports import free_ports
from tidegate.service.config.configuration import read_configuration

SERVICES = ("scheduler", "ingest", "actuator")
DISPATCHER = "dispatcher"
"""The service that only installations with worker clusters have."""
READY_S = 120.0
POLL_S = 0.1
NOTE = "cluster-uid"
KEPT = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "nats")


class NotReadyError(TidegateError):
    """A service did not become ready; the message has its name, the cause, and its log's path."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and against what."""

    state: Path  # folder of ledger, bus and logs; the same folder continues where it ended
    kubeconfig: Path
    ledger: str = ""  # URL; empty: SQLite in ``state``
    config: str = ""  # path of Kueue's Configuration file; empty: defaults
    services: tuple[str, ...] = SERVICES  # shadow mode leaves the actuator out


class RunningServices(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, and how to reach it."""

    ledger: str
    nats_url: str
    kubeconfig: Path
    health: dict[str, str]  # service to base URL
    logs: Path
    supervisor: Supervisor


def services_of(config: str) -> tuple[str, ...]:
    """Return the services that a Configuration file asks for; an empty path: Kueue's defaults.

    Raises:
        SettingsError: it cannot be read, or asks for what cannot be done.
    """
    sends = bool(config) and read_configuration(config).policy.multikueue is not None
    return (*SERVICES, DISPATCHER) if sends else SERVICES


@asynccontextmanager
async def run_services(
    settings: RunOptions, report: Callable[[str], None]
) -> AsyncGenerator[RunningServices, None]:
    """Start the bus and the services, yield once they are all ready, and stop them at the end.

    Raises:
        NotReadyError: a service did not become ready.
        BusUnreachableError: nats-server did not start.
        ApiStatusError, ApiUnreachableError: the API server does not say which cluster it is of.
    """
    settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with connect(Access(kubeconfig=str(settings.kubeconfig))) as api:
        switch_to_cluster(await cluster_uid(api), settings.state, report)
    supervisor = Supervisor(report)
    async with embedded_server(settings.state / "nats") as nats_url:
        running = _plan(settings, nats_url, supervisor)
        try:
            for service in settings.services:
                await supervisor.start(_program(settings, running, service))
            await wait_ready(running)
            yield running
        finally:
            await supervisor.stop()


async def wait_ready(running: RunningServices, patience_s: float = READY_S) -> None:
    """Wait until each service answers /readyz with 200.

    Raises:
        NotReadyError: one did not within ``patience_s``.
    """
    for service, base in running.health.items():
        state = "no answer"
        try:
            async with asyncio.timeout(patience_s):
                while state:
                    state = await _why_not_ready(base)
                    await asyncio.sleep(POLL_S if state else 0)
        except TimeoutError:
            log = running.logs / f"{service}.log"
            message = f"{service} is not ready after {patience_s:.0f} s: {state} (its log: {log})"
            raise NotReadyError(message) from None


def _plan(settings: RunOptions, nats_url: str, supervisor: Supervisor) -> RunningServices:
    ports = dict(zip(settings.services, free_ports(len(settings.services)), strict=True))
    return RunningServices(
        ledger=settings.ledger or f"sqlite:///{settings.state.resolve() / 'ledger.db'}",
        nats_url=nats_url,
        kubeconfig=settings.kubeconfig,
        health={service: f"http://127.0.0.1:{port}" for service, port in ports.items()},
        logs=settings.state / "logs",
        supervisor=supervisor,
    )


def _program(settings: RunOptions, running: RunningServices, service: str) -> Program:
    environment = {
        **os.environ,
        "TIDEGATE_NATS_URL": running.nats_url,
        "TIDEGATE_LEDGER": running.ledger,
        "TIDEGATE_KUBECONFIG": str(running.kubeconfig),
        "TIDEGATE_CONFIG": settings.config,
        "TIDEGATE_HEALTH_PORT": running.health[service].rpartition(":")[2],
        "TIDEGATE_HOLDER_FILE": str(settings.state.resolve() / f"{service}.holder"),
        "TIDEGATE_LOG_FORMAT": "json",
    }
    return Program(
        name=service,
        command=[sys.executable, "-P", "-m", service],
        environment=environment,
        log=running.logs / f"{service}.log",
    )


async def _why_not_ready(base: str) -> str:
    """Return why a service is not ready; empty if it is."""
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{base}/readyz") as answer:
            return "" if answer.status == 200 else (await answer.text()).strip()  # noqa: PLR2004 - OK
    except aiohttp.ClientError as error:
        return str(error)


def switch_to_cluster(uid: str, state: Path, report: Callable[[str], None]) -> None:
    """Move another cluster's ledger and bus away, and move this cluster's back.

    An embedded cluster is a new one after each ``tidegate down``. Its ledger waits in a folder of
    its own for the cluster to come back, and the new cluster begins with an empty one.
    """
    note = state / NOTE
    before = note.read_text().strip() if note.exists() else uid
    if before != uid:
        away, back = state / "clusters" / before, state / "clusters" / uid
        _move(state, away)
        report(f"this is another cluster than the last one, whose ledger is kept in {away}")
        if back.exists():
            _move(back, state)
    note.write_text(f"{uid}\n")


def _move(start: Path, end: Path) -> None:
    end.mkdir(parents=True, exist_ok=True)
    for part in _movable_parts(start):
        part.rename(end / part.name)


def _movable_parts(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in KEPT if (folder / name).exists())
