"""A framework is taken out of the configuration while its jobs run: no workload waits for them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.e2e.cast import events_of, job_of, make_queues, submit, until
from tests.e2e.living import Living, clear, configured
from tests.e2e.test_left_behind import is_reported, workload_of
from tidegate.cli.doctor.leftover_workloads import leftover_workloads
from tidegate.cluster.running import run_services
from tidegate.contracts.facts import WorkloadRemoved
from tidegate.kube.ports import KubernetesApi
from tidegate.service.config.configuration import read_configuration

pytestmark = [pytest.mark.real, pytest.mark.slow]  # what is not watched is kept for 10 s
NAMESPACE = "unwatched"
BLOCKS = "waitForPodsReady: {enable: true, blockAdmission: true, timeout: 1h}\n"
NO_JOBS = BLOCKS + "integrations: {frameworks: [pod]}\n"


async def test_a_framework_taken_out_lets_go_of_its_quota(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    await clear(api)  # a workload anywhere that holds quota and is not ready blocks all others
    await make_queues(api, {NAMESPACE: "2"})
    living = Living(api, NAMESPACE)
    async with run_services(configured(tmp_path, own_api, BLOCKS), print):
        await submit(api, NAMESPACE, "runs", cpu="2", seconds=3_600)
        runs = await workload_of(api, NAMESPACE, "runs")
        uid = (await job_of(api, NAMESPACE, "runs"))["metadata"]["uid"]
    async with run_services(configured(tmp_path, own_api, NO_JOBS), print) as running:
        await living.make("next", cpu="2")
        await living.shows("next", "Admitted=True Admitted")
        gone = events_of(running.ledger, WorkloadRemoved)  # others' Jobs on this API server go too
        removed = [event.reason for event in gone if event.uid == uid]
        assert removed == ["NotWatched"]
        await until(partial(is_reported, api, NAMESPACE, runs), f"an Event on {runs}")
        left = leftover_workloads(
            [await living.read(runs)], read_configuration(str(tmp_path / "config.yaml"))
        )
        assert left == [f"{NAMESPACE}/{runs} of Job runs"]
