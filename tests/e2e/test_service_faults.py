"""What the services stand on breaks: their ledger, their API server, their being the only ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.breaking import restart, twin
from tests.e2e.ordeal import alone, ordeal
from tests.parts.postgresql import Server
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.ports import free_ports
from tidegate.cluster.running import SERVICES
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real


async def test_postgresql_is_the_ledger_and_is_restarted_midway(
    api: KubernetesApi, own_api: str, tmp_path: Path, postgresql: Server
) -> None:
    ledger = postgresql.new_database()
    async with ordeal(api, alone(tmp_path, own_api, ledger), "pg-restarted") as trial:
        await trial.submit()
        await trial.midway()
        await asyncio.to_thread(postgresql.restart)
    postgresql.drop(ledger)


async def test_two_of_each_service_run_at_once(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "twins") as trial:
        for service, port in zip(SERVICES, free_ports(len(SERVICES)), strict=True):
            await trial.running.supervisor.start(twin(trial.running, service, port))
        await trial.submit()
        await trial.midway()


async def test_the_api_server_is_killed_and_started_again(
    api: KubernetesApi, own_plane: ControlPlane, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "api-killed") as trial:
        await trial.submit()
        await trial.midway()
        await restart(own_plane, "kube-apiserver")
