"""A real control plane with the CRDs and the roles in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.parts.kubernetes import make_namespace, real_api
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access

__all__ = ["real_api"]


@pytest.fixture
async def admin(real_api: str) -> AsyncIterator[KubernetesClient]:
    async with connect(Access(kubeconfig=real_api)) as api:
        await install(api, manifests_folder(), print)
        yield api


@pytest.fixture
async def namespace(admin: KubernetesClient) -> AsyncIterator[str]:
    name = await make_namespace(admin)
    yield name
    await admin.request("DELETE", f"/api/v1/namespaces/{name}")
