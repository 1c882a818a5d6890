"""One real control plane for these tests, with the CRDs and the policies in force."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator

import pytest

from tests.kinds.cluster import Cluster, Manifest
from tests.kinds.installing import install
from tests.parts.kubernetes import own_api, own_plane
from tidegate.kube.client import Access, connect

__all__ = ["own_api", "own_plane"]


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> str:
    """Return the kubeconfig of a control plane that these tests may fill as they like."""
    given = os.environ.get("TIDEGATE_TEST_KUBECONFIG", "")
    return given or str(request.getfixturevalue("own_api"))


@pytest.fixture(scope="session")
def installed(kubeconfig: str) -> str:
    """Return the kubeconfig once CRDs and policies are in force there."""
    asyncio.run(install(kubeconfig))
    return kubeconfig


@pytest.fixture
async def cluster(installed: str) -> AsyncIterator[Cluster]:
    """Lend a connection to the prepared control plane."""
    async with connect(Access(kubeconfig=installed)) as api:
        yield Cluster(api)


@pytest.fixture
async def namespace(cluster: Cluster) -> AsyncIterator[str]:
    """Lend an empty namespace."""
    found: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
    found["metadata"]["name"] = name = f"kinds-{secrets.token_hex(4)}"
    assert (await cluster.create(found)).status == 201
    yield name
    await cluster.delete(found)
