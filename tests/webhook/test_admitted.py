"""Jobs on a real API server that asks the webhook: admitted through it, and while it is away."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tests.e2e.cast import eventually, job_of, make_queues, submit, tidegate
from tests.e2e.observer import Observer
from tests.parts.webhook import configuration, free_port, prepare_webhook, webhook
from tidegate.cluster.enforcement import wait_enforced
from tidegate.cluster.install import install, manifests_folder
from tidegate.cluster.processes import Process, stop
from tidegate.cluster.running import RunOptions, run_services
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.webhooks import NAMESPACE, WEBHOOK, is_mutating
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
QUOTA = "2"


class Stage(NamedTuple):
    """An API server that asks a webhook, and the webhook's process."""

    api: KubernetesApi
    kubeconfig: str
    asked: Process


@pytest.fixture
async def stage(new_api: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with connect(Access(kubeconfig=new_api)) as api:
        names = list[str]()
        await install(api, manifests_folder(), names.append)
        await without_mutating(api)
        port = free_port()
        await prepare_webhook(api, policies(), port, NAMESPACE)
        with serving(new_api, tmp_path, port) as process:
            await wait_enforced(api)
            yield Stage(api, new_api, process)


def serving(kubeconfig: str, folder: Path, port: int) -> AbstractContextManager[Process]:
    folder.mkdir(exist_ok=True)
    return webhook(kubeconfig, configuration(folder, ["batch/job"]), folder, port)


async def without_mutating(api: KubernetesApi) -> None:
    """Remove what the oldest Kubernetes does not have anyway."""
    root = "/apis/admissionregistration.k8s.io/v1"
    for policy in policies():
        if is_mutating(policy):
            plural = f"{policy['kind'].lower().removesuffix('y')}ies"
            plural = "mutatingadmissionpolicybindings" if plural.endswith("gies") else plural
            await api.request("DELETE", f"{root}/{plural}/{policy['metadata']['name']}")


async def test_jobs_are_admitted_through_the_webhook_and_while_it_is_away(
    stage: Stage, tmp_path: Path
) -> None:
    await make_queues(stage.api, {"first": QUOTA})
    observer = Observer(stage.api, ["first"], quota_milli=2_000)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(observer.run())
        wanted = RunOptions(state=tmp_path / "state", kubeconfig=Path(stage.kubeconfig))
        async with run_services(wanted, print) as running:
            await submit(stage.api, "first", "held", cpu="1500m", seconds=1)
            made = await job_of(stage.api, "first", "held")
            assert made["metadata"]["annotations"]["tidegate.dev/author"] == "admin"
            await eventually(lambda: observer.completed() == 1, "the first Job completes")
            stop(stage.asked, signal.SIGKILL)
            for name in ("late", "later"):
                await submit(stage.api, "first", name, cpu="1500m", seconds=1)
            await eventually(lambda: observer.completed() == 3, "the others complete")
            answer = tidegate("why", "job/later", "-n", "first", "--ledger", running.ledger)
            assert "Admitted" in answer
        watching.cancel()


async def test_a_later_replica_takes_up_the_certificate_that_is_there(
    stage: Stage, tmp_path: Path
) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets/{WEBHOOK}"
    before = msgspec.json.decode((await stage.api.request("GET", path)).body)["data"]
    with serving(stage.kubeconfig, tmp_path / "second", free_port()):
        after = msgspec.json.decode((await stage.api.request("GET", path)).body)["data"]
    assert before == after
    assert set(before) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
