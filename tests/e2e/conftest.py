"""A control plane of our own, with Tidegate's objects in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.parts.kubernetes import own_api, own_plane
from tests.parts.postgresql import postgresql
from tests.parts.standby import pair
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi

__all__ = ["api", "own_api", "own_plane", "pair", "postgresql"]


@pytest.fixture
async def api(own_api: str) -> AsyncIterator[KubernetesApi]:
    """Lend a client of the control plane, with Tidegate's CRDs, policies and roles installed."""
    async with connect(Access(kubeconfig=own_api)) as client:
        await install(client, manifests_folder(), print)
        yield client
