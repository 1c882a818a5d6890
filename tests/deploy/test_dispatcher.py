"""The dispatcher of the component sends a Job to a worker cluster with its own rights alone.

In Kubernetes those of its account, here and there; on the bus those of its user.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.deploy.applying import apply_all
from tests.deploy.nats_server import nats_with_accounts
from tests.deploy.playing import Given, Played
from tests.deploy.rendering import DEPLOY
from tests.deploy.test_components import DISPATCHER, rendered
from tests.deploy.test_services import containers, make_roles, run_to_its_end, running, scraped
from tests.e2e.among_clusters import NAME, describe
from tests.e2e.cast import job_of, make_queues, until
from tests.e2e.ordeal import alone
from tests.e2e.test_multikueue import submit
from tests.parts.kubernetes import fresh_plane
from tests.parts.postgresql import Server
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import apply, install, manifests_folder, read_documents
from tidegate.cluster.running import run_services
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]
SERVICES = ("scheduler", "ingest", "actuator", "dispatcher")
MANAGER = "tidegate-manager"


async def kubeconfig_of_the_manager(api: KubernetesApi, plane: ControlPlane) -> bytes:
    """Return a kubeconfig of the account that deploy/worker makes, by a token of its own."""
    for document in read_documents((DEPLOY / "worker" / "account.yaml").read_text()):
        await apply(api, document)
    path = f"/api/v1/namespaces/{MANAGER}/serviceaccounts/{MANAGER}/token"
    body = msgspec.json.encode({"spec": {"expirationSeconds": 3_600}})
    answer = await api.request("POST", path, body=body)
    assert answer.status == 201, answer.body
    config: dict[str, Any] = yaml.safe_load(plane.kubeconfig.read_text())
    token = msgspec.json.decode(answer.body)["status"]["token"]
    for user in config["users"]:
        user["user"] = {"token": token}
    for cluster in config["clusters"]:
        file = cluster["cluster"].pop("certificate-authority", None)
        if file:
            data = b64encode(Path(file).read_bytes()).decode()
            cluster["cluster"]["certificate-authority-data"] = data
    return yaml.safe_dump(config).encode()


@asynccontextmanager
async def manager(
    api: KubernetesClient, kubeconfig: Path, database: str, folder: Path
) -> AsyncGenerator[dict[str, Played]]:
    """Yield the containers of production and of the dispatcher as processes to start."""
    objects = rendered(folder, DISPATCHER)
    configuration = objects["ConfigMap", "tidegate-configuration"]["data"]
    configuration["configuration.yaml"] += "multiKueue: {gcInterval: 5s}\n"
    await apply_all(api, objects)
    make_roles(database)
    with nats_with_accounts(folder / "nats") as served:
        objects["ConfigMap", "tidegate-ca"] = {"data": {"ca.crt": served.ca.read_text()}}
        secrets = {(f"tidegate-{name}", "nats-url"): served.url(name) for name in SERVICES}
        for role, secret in (("owner", "migration"), ("writer", "scheduler")):
            url = database.replace("tidegate@", f"tidegate_{role}@", 1)
            secrets[f"tidegate-{secret}", "ledger-url"] = url
        given = Given(
            folder=folder,
            kubeconfig=kubeconfig,
            secrets=secrets,
            instead={"TIDEGATE_REPLICAS": "1"},  # there is one server
        )
        played = await containers(api, objects, given)
        run_to_its_end(played["migrate"])
        yield played


async def is_complete(api: KubernetesApi) -> bool:
    status = (await job_of(api, NAME, "sent")).get("status", {})
    return any(condition["type"] == "Complete" for condition in status.get("conditions", ()))


async def is_clean(api: KubernetesApi) -> bool:
    answer = await api.request("GET", f"/apis/batch/v1/namespaces/{NAME}/jobs")
    return not msgspec.json.decode(answer.body)["items"]


async def test_a_job_is_sent_with_the_rights_of_the_component(
    admin: KubernetesClient, own_api: str, postgresql: Server, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        database, here = postgresql.new_database(), Path(own_api)
        played = await stack.enter_async_context(manager(admin, here, database, tmp_path))
        plane = stack.enter_context(fresh_plane(tmp_path / "worker"))
        access = Access(kubeconfig=str(plane.kubeconfig))
        worker = await stack.enter_async_context(connect(access))
        await install(worker, manifests_folder(), print)
        await make_queues(worker, {NAME: "2"})
        kubeconfig = await kubeconfig_of_the_manager(worker, plane)
        await make_queues(admin, {NAME: "2"})
        await describe(admin, {"w1": kubeconfig}, "tidegate-workers")
        there = alone(tmp_path / "state", str(plane.kubeconfig))
        await stack.enter_async_context(run_services(there, print))
        supervisor = await stack.enter_async_context(running([played[name] for name in SERVICES]))
        await submit(admin, "sent", 3)
        await until(partial(is_complete, admin), "the Job completes there, and here", 300)
        await until(partial(is_clean, worker), "nothing is left at the worker", 120)
        assert 'status="403"' not in await scraped([played["actuator"]])
        assert set(supervisor.restarts.values()) == {0}
    log = played["dispatcher"].program.log.read_text()
    assert "forbidden" not in log.lower()
    assert "violation" not in log.lower()
