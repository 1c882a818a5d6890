"""The bus breaks under running Jobs: killed and started again, or a stream of it deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.e2e.breaking import delete_stream, nats_process
from tests.e2e.cast import eventually
from tests.e2e.ordeal import alone, ordeal
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


@pytest.mark.parametrize("stream", ["EVENTS", "OBSERVATIONS"])
async def test_a_stream_is_deleted_midway(
    api: KubernetesApi, own_api: str, tmp_path: Path, stream: str
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), f"lost-{stream.lower()}") as trial:
        await trial.submit()
        await trial.midway()
        await delete_stream(trial.running.nats_url, stream)
