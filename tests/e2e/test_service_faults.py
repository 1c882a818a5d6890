"""What the services stand on breaks: their ledger, their API server, their being the only ones."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from tests.e2e.breaking import restart, twin
from tests.e2e.cast import eventually
from tests.e2e.ordeal import alone, ordeal
from tests.parts.cutting import Cut, Cutter, socket_folder
from tests.parts.postgresql import Server
from tests.parts.standby import Pair
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.running import SERVICES
from tidegate.kube.ports import KubernetesApi
from tidegate.ports import free_ports

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


@pytest.mark.slow
async def test_postgresql_is_killed_and_its_standby_promoted_midway(
    api: KubernetesApi, own_api: str, tmp_path: Path, pair: Pair
) -> None:
    async with ordeal(api, alone(tmp_path, own_api, pair.url), "pg-failed-over") as trial:
        await trial.submit()
        await trial.midway()
        await asyncio.to_thread(pair.fail_over)


@pytest.mark.slow
async def test_connections_to_postgresql_are_cut_at_the_commit(
    api: KubernetesApi, own_api: str, tmp_path: Path, postgresql: Server
) -> None:
    ledger = postgresql.new_database()
    folder = socket_folder(ledger)
    with Cutter(folder, tmp_path) as cutter:
        through = ledger.replace(str(folder), str(tmp_path))
        async with ordeal(api, alone(tmp_path, own_api, through), "pg-cut") as trial:
            await trial.submit()
            await trial.midway()
            for how in get_args(Cut) * 2:
                cutter.planned.append(how)
                await eventually(partial(has_cut, cutter, how), f"a commit is cut {how}")
    postgresql.drop(ledger)


def has_cut(cutter: Cutter, how: Cut) -> bool:
    return not cutter.planned and cutter.done[-1:] == [how]


@pytest.mark.slow
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
