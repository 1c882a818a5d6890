"""Order of workloads after their pods were not ready in time, on a real API server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.cast import eventually, make_queues, tidegate
from tests.e2e.living import Living, conditions, configured
from tidegate.cluster.running import run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
TIMES = """
waitForPodsReady:
  timeout: 20s
  requeuingStrategy: {{backoffBaseSeconds: 5, timestamp: {timestamp}}}
"""


async def make_older(life: Living, name: str) -> None:
    """Create a Workload, and return when one that is created now is younger."""
    await life.make(name)
    text = (await life.read(name))["metadata"]["creationTimestamp"]
    made = datetime.fromisoformat(text)
    await eventually(lambda: (datetime.now(UTC) - made).total_seconds() > 1.5, "a second passed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("timestamp", "next_one"),
    [("Eviction", "third"), ("Creation", "first")],
)
async def test_the_requeuing_timestamp_says_which_workload_goes_next(
    api: KubernetesApi, own_api: str, tmp_path: Path, timestamp: str, next_one: str
) -> None:
    namespace = f"requeued-by-{timestamp.lower()}"
    await make_queues(api, {namespace: "1"})
    life = Living(api, namespace)
    config = configured(tmp_path, own_api, TIMES.format(timestamp=timestamp))
    async with run_services(config, print) as running:
        await make_older(life, "first")
        await life.shows("first", "Admitted=True Admitted")
        await make_older(life, "second")
        await make_older(life, "third")
        await life.shows("first", "Evicted=True PodsReadyTimeout")
        await life.shows("second", "Admitted=True Admitted")
        await life.add("second", "PodsReady", "Started")
        await life.shows("first", "Requeued=True BackoffFinished")
        await life.finish("second")
        await life.shows(next_one, "Admitted=True Admitted")
        (other,) = {"first", "third"} - {next_one}
        assert "Admitted=True Admitted" not in conditions(await life.read(other))
        tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
