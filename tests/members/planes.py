"""The API servers of the clusters of ``tests.members.stage``: embedded ones, and real ones."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.outages.test_three_servers import api_server
from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access


@asynccontextmanager
async def real_server(kubeconfig: Path) -> AsyncGenerator[KubernetesClient]:
    """Run a control plane and yield a client of it; see ``stage.Server``."""
    folder = kubeconfig.with_suffix(".plane")
    folder.mkdir()
    with fresh_plane(folder) as plane:
        shutil.copyfile(plane.kubeconfig, kubeconfig)
        async with connect(Access(kubeconfig=str(kubeconfig))) as api:
            await install(api, manifests_folder(), print)
            yield api


SERVERS = [pytest.param(api_server, id="embedded"), pytest.param(real_server, id="real")]
"""The same test on each; real ones skip it where they cannot be built."""
