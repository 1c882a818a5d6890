"""Every kind of fault, each as it happens by itself; a new one is one more line of ``FAULTS``."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import psutil

from tests.chaos.ground import Ground
from tests.e2e.breaking import delete_stream, nats_process, pause, restart
from tidegate.cluster.running import SERVICES

FROZEN_S = 8.0
Strike = Callable[[Ground], Awaitable[None]]


class Fault(NamedTuple):
    """One kind of fault.

    ``strike`` returns at the moment from which recovery counts: the part's death, or the end of
    what lasts for as long as the test's own hand wants.
    """

    name: str
    strike: Strike


async def _kill_nats(ground: Ground) -> None:
    nats_process(ground.state).kill()


async def _kill(service: str, ground: Ground) -> None:
    os.kill(ground.running.supervisor.pid(service), signal.SIGKILL)


async def _end(service: str, ground: Ground) -> None:
    process = psutil.Process(ground.running.supervisor.pid(service))
    process.terminate()
    with suppress(psutil.NoSuchProcess):  # its keeper waits for it; we only look
        while process.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.05)


async def _freeze(service: str, ground: Ground) -> None:
    pid = ground.running.supervisor.pid(service)
    pause(ground.running, service)
    await asyncio.sleep(FROZEN_S)
    os.kill(pid, signal.SIGCONT)


async def _lose(stream: str, ground: Ground) -> None:
    await delete_stream(ground.running.nats_url, f"tidegate_local_{stream}")


async def _restart_api(ground: Ground) -> None:
    await restart(ground.plane, "kube-apiserver")


async def _restart_postgresql(ground: Ground) -> None:
    assert ground.postgres is not None
    await asyncio.to_thread(ground.postgres.restart)


async def _kill_all(ground: Ground) -> None:
    nats_process(ground.state).kill()
    for service in SERVICES:
        await _kill(service, ground)


FAULTS = (
    *(Fault(f"{service} killed", partial(_kill, service)) for service in SERVICES),
    *(Fault(f"{service} ended by SIGTERM", partial(_end, service)) for service in SERVICES),
    *(Fault(f"{service} frozen", partial(_freeze, service)) for service in SERVICES),
    Fault("NATS killed", _kill_nats),
    Fault("EVENTS deleted", partial(_lose, "events")),
    Fault("OBSERVATIONS deleted", partial(_lose, "observations")),
    Fault("API server killed", _restart_api),
    Fault("all services and NATS killed", _kill_all),
)
POSTGRESQL = Fault("PostgreSQL restarted", _restart_postgresql)


def faults_of(ground: Ground) -> tuple[Fault, ...]:
    """Return what can be done to these parts."""
    return FAULTS if ground.postgres is None else (*FAULTS, POSTGRESQL)
