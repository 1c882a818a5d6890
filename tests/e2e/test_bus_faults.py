"""The bus breaks under running Jobs: killed and started again, or a stream of it deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.e2e.breaking import delete_stream, nats_process
from tests.e2e.cast import events_of, eventually
from tests.e2e.ordeal import alone, ordeal
from tidegate.contracts.fact_kinds.reception import StreamReplaced
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real


def is_another(state: Path, pid: int) -> bool:
    try:
        return nats_process(state).pid != pid
    except AssertionError:
        return False


async def test_nats_is_killed_and_started_again_on_the_same_store_and_port(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "nats-killed") as trial:
        await trial.submit()
        await trial.midway()
        server = nats_process(tmp_path)
        server.kill()
        await eventually(partial(is_another, tmp_path, server.pid), "nats-server runs again")


@pytest.mark.slow
async def test_events_are_deleted_midway(api: KubernetesApi, own_api: str, tmp_path: Path) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "lost-events") as trial:
        await trial.submit()
        await trial.midway()
        await delete_stream(trial.running.nats_url, "tidegate_local_events")


@pytest.mark.slow
async def test_observations_are_deleted_midway(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "lost-observations") as trial:
        await trial.submit()
        await trial.midway()
        await delete_stream(trial.running.nats_url, "tidegate_local_observations")
        ledger = trial.running.ledger
        await eventually(lambda: bool(events_of(ledger, StreamReplaced)), "the loss is recorded")
