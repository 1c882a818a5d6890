"""A database server and a control plane, for what is deployed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.deploy.applying import apply_monitor_kinds
from tests.parts.kubernetes import own_api, own_plane
from tests.parts.newer import newer
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access

__all__ = ["newer", "own_api", "own_plane"]


@pytest.fixture
async def admin(own_api: str) -> AsyncIterator[KubernetesClient]:
    """The control plane's owner, with the kinds of the Prometheus operator."""
    async with connect(Access(kubeconfig=own_api)) as api:
        await apply_monitor_kinds(api)
        yield api
