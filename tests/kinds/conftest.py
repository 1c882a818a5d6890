"""One real control plane for these tests, with the CRDs and the policies in force.

With TIDEGATE_TEST_ADMISSION=webhook the webhook stands in for the mutating policies, as it does on
a Kubernetes that has none (TIDEGATE_TEST_KUBERNETES=1.30.14).
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.kinds.cluster import Cluster, Manifest
from tests.kinds.installing import install, install_asking, wait_answered
from tests.parts.kubernetes import own_api, own_plane
from tests.parts.webhook import configuration, free_port, webhook
from tidegate.kinds.policies.frameworks import NAMES
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

__all__ = ["own_api", "own_plane"]


@pytest.fixture(scope="package")
def kubeconfig(request: pytest.FixtureRequest) -> str:
    """Return the kubeconfig of a control plane that these tests may fill as they like."""
    given = os.environ.get("TIDEGATE_TEST_KUBECONFIG", "")
    return given or str(request.getfixturevalue("own_api"))


@pytest.fixture(scope="package")
def installed(kubeconfig: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the kubeconfig once CRDs and policies are in force there."""
    if os.environ.get("TIDEGATE_TEST_ADMISSION", "") != "webhook":
        asyncio.run(install(kubeconfig))
        yield kubeconfig
        return
    folder, port = tmp_path_factory.mktemp("webhook"), free_port()
    asyncio.run(install_asking(kubeconfig, port))
    with webhook(kubeconfig, configuration(folder, NAMES), folder, port):
        asyncio.run(wait_answered(kubeconfig))
        yield kubeconfig


@pytest.fixture
async def cluster(installed: str) -> AsyncIterator[Cluster]:
    """Lend a connection to the prepared control plane."""
    async with connect(Access(kubeconfig=installed)) as api:
        yield Cluster(api)


@pytest.fixture
async def namespace(cluster: Cluster) -> AsyncIterator[str]:
    """Lend an empty namespace."""
    manifest: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
    manifest["metadata"]["name"] = name = f"kinds-{secrets.token_hex(4)}"
    assert (await cluster.create(manifest)).status == 201
    yield name
    await cluster.delete(manifest)
