"""A real control plane for each cluster of ``tests.members.stage``, and what is installed there."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.client import Access, KubernetesClient, connect


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
