"""Two installations on one cluster, each with a bus and a ledger of its own: the second refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cast import events_of, eventually, job_of, make_queues, submit, until
from tests.e2e.ordeal import alone
from tidegate.cluster.running import NotReadyError, run_services
from tidegate.contracts.decisions import StartOrdered
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
NAME = "two-installations"


@pytest.mark.slow
async def test_the_actuator_of_the_second_installation_refuses_and_touches_nothing(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await make_queues(api, {NAME: "1"})

    async def runs(name: str) -> bool:
        return bool((await job_of(api, NAME, name))["status"].get("active"))

    async with run_services(alone(tmp_path / "first", own_api), print) as first:
        log = tmp_path / "second" / "logs" / "actuator.log"
        with pytest.raises(NotReadyError, match="actuator is not ready"):
            async with run_services(alone(tmp_path / "second", own_api), print):
                pass
        assert "Another Tidegate decides for this cluster" in log.read_text()
        await submit(api, NAME, "train", cpu="1", seconds=3_600)
        await until(lambda: runs("train"), "the first goes on")
        assert first.supervisor.restarts["actuator"] == 0
    async with run_services(alone(tmp_path / "second", own_api), print) as second:
        await submit(api, NAME, "after", cpu="1", seconds=1)
        ran = await job_of(api, NAME, "train")
        uid = ran["metadata"]["uid"]

        def is_decided() -> bool:
            return any(order.job.uid != uid for order in events_of(second.ledger, StartOrdered))

        assert (await api.request("DELETE", f"/apis/batch/v1/namespaces/{NAME}/jobs/train")).status
        await eventually(is_decided, "the second decides once the first has ended")
        await until(lambda: is_done(api), "and its Job completes")


async def is_done(api: KubernetesApi) -> bool:
    return bool((await job_of(api, NAME, "after"))["status"].get("succeeded"))
