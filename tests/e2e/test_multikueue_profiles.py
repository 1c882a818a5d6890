"""Jobs go to worker clusters that ClusterProfiles describe, on three real API servers.

The plugin is told of the cluster that it logs in to, and prints a token of the account that
``deploy/worker`` makes there.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from tests.deploy.rendering import DEPLOY
from tests.e2e.among_clusters import CONFIG, GROUP, SYSTEM, Site, World, describe, furnish
from tests.e2e.cast import Object, define
from tests.e2e.ordeal import alone
from tests.e2e.test_multikueue import submit
from tests.parts.foreign import foreign_crd
from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.install import apply, read_documents
from tidegate.cluster.running import run_services, services_of
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1_500)]
WORKERS, FRAMEWORKS = ("w1", "w2"), ("batch/job",)
PROFILES = f"/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{SYSTEM}/clusterprofiles"
ACCOUNT = "tidegate-manager"
ACCOUNTS = f"/api/v1/namespaces/{ACCOUNT}/serviceaccounts"
V1 = "client.authentication.k8s.io/v1"
PLUGIN = f"""
import json, os, pathlib, sys
cluster = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]
folder = pathlib.Path(sys.argv[1])
name = cluster["config"]["clusterName"]
with (folder / f"{{name}}.logins").open("a") as file:
    file.write(cluster["server"] + "\\n")
status = {{"token": (folder / f"{{name}}.token").read_text()}}
print(json.dumps({{"apiVersion": "{V1}", "kind": "ExecCredential", "status": status}}))
"""


class Logins:
    """What the plugin prints for each cluster, and how often it was asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        (folder / "login.py").write_text(PLUGIN)

    def configuration(self) -> str:
        """Return a manager's configuration with the plugin."""
        ran: Object = {"apiVersion": V1, "command": sys.executable, "interactiveMode": "Never"}
        ran |= {"args": [str(self._folder / "login.py"), str(self._folder)]}
        provider = {"name": "corp", "execConfig": {**ran, "provideClusterInfo": True}}
        profile = {"accessProviders": [provider]}
        config = yaml.safe_load(CONFIG.format(FRAMEWORKS[0]))
        config["featureGates"] = {"MultiKueueClusterProfile": True}
        config["multiKueue"] = {"gcInterval": "5s", "clusterProfile": profile}
        return yaml.safe_dump(config)

    def asked(self, worker: str) -> list[str]:
        """Return the servers that the plugin was told for a cluster, one for each login."""
        path = self._folder / f"{worker}.logins"
        return path.read_text().splitlines() if path.exists() else []

    async def renew(self, worker: str, site: Site) -> str:
        """Have the plugin print a new token of the manager's account, and return it."""
        for document in read_documents((DEPLOY / "worker" / "account.yaml").read_text()):
            await apply(site.api, document)
        body = msgspec.json.encode({"spec": {"expirationSeconds": 3_600}})
        answer = await site.api.request("POST", f"{ACCOUNTS}/{ACCOUNT}/token", body=body)
        assert answer.status == 201, answer.body
        token: str = msgspec.json.decode(answer.body)["status"]["token"]
        (self._folder / f"{worker}.token").write_text(token)
        return token


def cluster_of(site: Site) -> dict[str, Any]:
    """Return server and authority of a cluster as its own kubeconfig has them."""
    document: dict[str, Any] = yaml.safe_load(site.plane.kubeconfig.read_text())
    return dict(document["clusters"][0]["cluster"])


async def write_profile(there: World, worker: str) -> None:
    """Describe a worker on the manager, as an inventory does."""
    profile: Object = {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile"}
    profile["metadata"] = {"name": worker, "namespace": SYSTEM}
    profile["spec"] = {"clusterManager": {"name": "inventory"}}
    await define(there.manager.api, profile)
    documents = [
        {"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": worker}}
    ]
    cluster = {**cluster_of(there.workers[worker]), "extensions": documents}
    status = {"accessProviders": [{"name": "corp", "cluster": cluster}]}
    await there.manager.change(f"{PROFILES}/{worker}/status", {"status": status})


async def says(there: World, worker: str, active: str) -> None:
    async def holds() -> bool:
        return await there.active(worker) == active

    await there.until(holds, f"{worker} is {active}")


async def revoke(there: World, site: Site, token: str) -> None:
    """Delete the manager's account of a worker, and wait until the worker refuses its token."""
    await site.remove(f"{ACCOUNTS}/{ACCOUNT}")
    review = msgspec.json.encode({"spec": {"token": token}})

    async def is_void() -> bool:
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        answer = await site.api.request("POST", path, body=review)
        return not msgspec.json.decode(answer.body)["status"].get("authenticated", False)

    await there.until(is_void, "the token is void")


async def runs(there: World, name: str, *workers: str) -> None:
    """Submit a Job, and wait until it has run in one of the workers and is gone from there."""
    await submit(there.manager.api, name, 3)
    assert await there.chosen(name) in workers
    await there.complete(name)
    await there.clean()


@asynccontextmanager
async def world(folder: Path, logins: Logins) -> AsyncGenerator[World]:
    """Bring up a manager whose clusters name profiles that are not there, and two workers."""
    sites = dict[str, Site]()
    async with AsyncExitStack() as stack:
        for name in (*WORKERS, "m"):
            plane = stack.enter_context(fresh_plane(folder / name))
            access = Access(kubeconfig=str(plane.kubeconfig))
            api = await stack.enter_async_context(connect(access))
            await furnish(api, FRAMEWORKS)
            wanted = alone(folder / f"state-{name}", str(plane.kubeconfig))
            if name == "m":
                await describe(api, dict.fromkeys(WORKERS, b""))
                config = folder / "configuration.yaml"
                config.write_text(logins.configuration())
                services = services_of(str(config))
                wanted = replace(wanted, config=str(config), services=services)
            running = await stack.enter_async_context(run_services(wanted, print))
            sites[name] = Site(plane, api, running)
        there = World(sites.pop("m"), sites)
        for name in WORKERS:
            source = {"kubeConfig": None, "clusterProfileRef": {"name": name}}
            path = f"{GROUP}/multikueueclusters/{name}"
            await there.manager.change(path, {"spec": {"clusterSource": source}})
        yield there


async def logs_in_again(there: World, logins: Logins, tokens: dict[str, str]) -> None:
    """Void the tokens of all workers once the plugin has others: a Job is sent all the same."""
    before = {name: len(logins.asked(name)) for name in tokens}
    for name, site in there.workers.items():
        await revoke(there, site, tokens[name])
        await logins.renew(name, site)
    await runs(there, "third", *WORKERS)

    async def asked() -> bool:
        return all(len(logins.asked(name)) > before[name] for name in tokens)

    await there.until(asked, "the plugin is asked again for each worker")
    for name, site in there.workers.items():
        assert set(logins.asked(name)) == {cluster_of(site)["server"]}


async def test_jobs_go_to_clusters_that_profiles_describe(tmp_path: Path) -> None:
    logins = Logins(tmp_path / "logins")
    async with world(tmp_path, logins) as there:
        tokens = {name: await logins.renew(name, site) for name, site in there.workers.items()}
        await says(there, "w1", "False BadClusterProfile")
        await define(there.manager.api, foreign_crd("clusterprofile"))
        for name in WORKERS:
            await write_profile(there, name)
            await says(there, name, "True Active")
        await runs(there, "first", *WORKERS)
        await submit(there.manager.api, "second", 40)
        await there.outlive("second", lambda: there.complete("second"))
        await logs_in_again(there, logins, tokens)
        await there.manager.remove(f"{PROFILES}/w1")
        await says(there, "w1", "False BadClusterProfile")
        await runs(there, "fourth", "w2")
