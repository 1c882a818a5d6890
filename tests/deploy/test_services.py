"""The services as the manifests run them, each with the rights of its own account and no others.

A job goes all the way, so that a right that lacks, in Kubernetes, NATS or PostgreSQL, fails a test.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp
import psycopg
import pytest

from tests.deploy.applying import apply_all
from tests.deploy.nats_server import nats_with_accounts
from tests.deploy.playing import Given, Played, play
from tests.deploy.rendering import DEPLOY, Objects, installed, overlay, pods
from tests.deploy.test_monitoring import asked
from tests.e2e.cast import job_of, make_queues, submit, until
from tests.parts.postgresql import Server
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cluster.enforcement import wait_enforced
from tidegate.cluster.supervisor import Supervisor
from tidegate.kube.client import KubernetesClient

pytestmark = pytest.mark.real
SERVICES = ("scheduler", "ingest", "actuator")


@asynccontextmanager
async def running(played: Sequence[Played]) -> AsyncGenerator[Supervisor]:
    """Run processes until the block ends; yield once each is ready."""
    supervisor = Supervisor(print)
    try:
        for service in played:
            await supervisor.start(service.program)
        for service in played:
            await until(partial(_is_ready, service.health), f"{service.program.name} is ready")
        yield supervisor
    finally:
        await supervisor.stop()


async def _is_ready(base: str) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"{base}/readyz") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


async def scraped(played: Sequence[Played]) -> str:
    """Return what all services tell Prometheus."""
    pages = list[str]()
    for service in played:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{service.health}/metrics") as answer,
        ):
            pages.append(await answer.text())
    return "".join(pages)


async def containers(api: KubernetesClient, objects: Objects, given: Given) -> dict[str, Played]:
    """Return every container that is ours as a process, by name."""
    return {
        container["name"]: await play(api, objects, pod, container, given)
        for _, pod in pods(objects)
        for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"])
        if container["name"] != "nats"
    }


async def goes_all_the_way(api: KubernetesClient, name: str) -> None:
    """Submit a job and wait until it ran and is shown as finished."""
    await make_queues(api, {name: "2"})
    await wait_enforced(api)
    await submit(api, name, "one", cpu="1", seconds=5)

    async def finished() -> bool:
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{name}/workloads"
        shown = (await api.request("GET", path)).body
        return b'"Finished"' in shown and b'"QuotaReserved"' in shown

    await until(finished, "the Workload shows that the Job finished")
    assert "tidegate.dev/decision" in (await job_of(api, name, "one"))["metadata"]["annotations"]


async def test_the_one_file_gives_services_that_work(
    admin: KubernetesClient, own_api: str, tmp_path: Path
) -> None:
    objects = installed()
    await apply_all(admin, objects)
    async with embedded_server(tmp_path / "nats") as url:
        given = Given(folder=tmp_path, kubeconfig=Path(own_api), instead={"TIDEGATE_NATS_URL": url})
        played = await containers(admin, objects, given)
        async with running([played[name] for name in SERVICES]) as supervisor:
            await goes_all_the_way(admin, "embedded")
            text = await scraped([played[name] for name in SERVICES])
            assert 'status="403"' not in text
            families = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
            assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked()} <= families
            assert 'kueue_admitted_workloads_total{cluster_queue="embedded"' in text
            assert set(supervisor.restarts.values()) == {0}


@pytest.mark.slow
async def test_production_gives_services_that_work(
    admin: KubernetesClient, own_api: str, postgresql: Server, tmp_path: Path
) -> None:
    objects = overlay("production")
    await apply_all(admin, objects)
    made = postgresql.new_database()
    make_roles(made)
    with nats_with_accounts(tmp_path / "nats") as served:
        objects["ConfigMap", "tidegate-ca"] = {"data": {"ca.crt": served.ca.read_text()}}
        secrets = {(f"tidegate-{name}", "nats-url"): served.url(name) for name in SERVICES}
        for role, secret in (("owner", "migration"), ("writer", "scheduler")):
            url = made.replace("tidegate@", f"tidegate_{role}@", 1)
            secrets[f"tidegate-{secret}", "ledger-url"] = url
        given = Given(
            folder=tmp_path,
            kubeconfig=Path(own_api),
            secrets=secrets,
            instead={"TIDEGATE_REPLICAS": "1"},  # there is one server
        )
        played = await containers(admin, objects, given)
        run_to_its_end(played["migrate"])
        async with running([played[name] for name in SERVICES]) as supervisor:
            await goes_all_the_way(admin, "production")
            assert 'status="403"' not in await scraped([played["actuator"]])
            assert set(supervisor.restarts.values()) == {0}


def make_roles(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute((DEPLOY / "sql" / "roles.sql").read_bytes())


def run_to_its_end(played: Played) -> None:
    done = subprocess.run(
        played.program.command,
        env=dict(played.program.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
async def test_an_account_of_no_right_is_never_ready(
    admin: KubernetesClient, own_api: str, tmp_path: Path
) -> None:
    objects = overlay("production")
    await apply_all(admin, objects)
    async with (
        embedded_server(tmp_path / "nats") as url,
        open_bus(url, cluster="local", name="scheduler") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        given = Given(
            folder=tmp_path,
            kubeconfig=Path(own_api),
            secrets={("tidegate-ingest", "nats-url"): url},
            instead={"TIDEGATE_NATS_CA": ""},
        )
        (pod,) = (pod for name, pod in pods(objects) if name == "tidegate-ingest")
        pod["spec"]["serviceAccountName"] = "tidegate-scheduler"
        ingest = await play(admin, objects, pod, pod["spec"]["containers"][0], given)
        supervisor = Supervisor(print)
        try:
            await supervisor.start(ingest.program)
            log = ingest.program.log
            await until(lambda: _says(log, "forbidden"), "it is refused")
            assert not await _is_ready(ingest.health)
        finally:
            await supervisor.stop()


async def _says(log: Path, word: str) -> bool:
    return word in await asyncio.to_thread(log.read_text)
