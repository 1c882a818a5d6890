"""Kubernetes for tests: the embedded server in process, and a real control plane from Go.

Import the fixtures into a conftest. The real one is shared by all workers of a run and stopped by
the last that leaves; a test that restarts or floods one takes ``own_plane``.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import msgspec
import pytest

from apiserver.api import EmbeddedApi
from apiserver.controllers.controller_manager import ControllerManager
from tidegate.cluster.go.building import (
    NEWEST,
    RELEASES,
    Release,
    build,
    is_built,
    why_not_buildable,
)
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.processes import spawn
from tidegate.cluster.progress import ProgressLines
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

DEADLINE_S = 60
OK = 200


@pytest.fixture
async def embedded_api() -> AsyncIterator[EmbeddedApi]:
    """Lend an embedded server on the wall clock, with controllers and two nodes."""
    api = EmbeddedApi(now_us=lambda: time.time_ns() // 1_000, random=Random(1))
    controller_manager = ControllerManager(api)
    for name in ("node-0", "node-1"):
        controller_manager.add_node(name)
    working = asyncio.create_task(controller_manager.run())
    yield api
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


@pytest.fixture(scope="session")
def real_api(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """Lend the kubeconfig of the run's control plane; tests keep to namespaces of their own."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    plane = ControlPlane(shared / "control-plane", binaries())
    with counted(shared / "control-plane.users") as users:
        if users == 1:
            bring_up(plane, shared, os.getpid() if worker_id == "master" else os.getppid())
    yield str(plane.kubeconfig)
    with counted(shared / "control-plane.users", -1) as users:
        if users == 0:
            plane.remove()


@pytest.fixture(scope="package")
def own_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Lend a package's own control plane: its parts may be killed and started again."""
    with fresh_plane(tmp_path_factory.mktemp("own")) as plane:
        yield plane


@pytest.fixture(scope="module")
def new_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the kubeconfig of a control plane for the tests of one module.

    For those that leave nodes or policies behind, or would stumble over others': imported as
    ``own_api`` it takes that one's place.
    """
    with fresh_plane(tmp_path_factory.mktemp("new")) as plane:
        yield str(plane.kubeconfig)


@contextmanager
def fresh_plane(folder: Path) -> Iterator[ControlPlane]:
    """Lend a control plane on which nothing was ever made."""
    plane = ControlPlane(folder / "control-plane", binaries())
    bring_up(plane, folder, os.getpid())
    with ThreadPoolExecutor(max_workers=1) as aside:  # a test may have a loop of its own
        aside.submit(asyncio.run, controllers_run(plane)).result()
    yield plane
    plane.remove()


async def controllers_run(plane: ControlPlane) -> None:
    """Wait until the controllers work: while they start they end if the API server goes away.

    The service account of each namespace is made by one of them, and they begin together.
    """
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    async with connect(Access(kubeconfig=str(plane.kubeconfig))) as api:
        async with asyncio.timeout(DEADLINE_S):
            while (await api.request("GET", path)).status != OK:
                await asyncio.sleep(0.1)


@pytest.fixture(scope="package")
def own_api(own_plane: ControlPlane) -> str:
    """Return the kubeconfig of a package's own control plane."""
    return str(own_plane.kubeconfig)


@pytest.fixture
async def real_namespace(real_api: str) -> AsyncIterator[str]:
    """Lend a namespace of the run's control plane; what is left in it goes with it."""
    async with connect(Access(kubeconfig=real_api)) as api:
        name = await make_namespace(api)
        yield name
        await api.request("DELETE", f"/api/v1/namespaces/{name}")


def bring_up(plane: ControlPlane, folder: Path, owner: int) -> None:
    """Bring a control plane up that ends with its owner, even if that is killed."""
    plane.up(ProgressLines(sys.stderr).write_line)
    arguments = [str(plane.kubeconfig.parent), str(owner)]
    spawn("guard", [sys.executable, "-m", "tests.parts.guard", *arguments], folder / "guard.log")


async def make_namespace(api: KubernetesApi) -> str:
    """Create a namespace of a random name, and return that name."""
    name = f"test-{secrets.token_hex(4)}"
    body = msgspec.json.encode({"metadata": {"name": name}})
    answer = await api.request("POST", "/api/v1/namespaces", body=body)
    assert answer.status == 201, answer.body
    return name


def binaries() -> Path:
    """Return the folder of the control plane's binaries, building them if Go is there.

    They are the newest's unless TIDEGATE_TEST_KUBERNETES names another version. Skips the test if
    they cannot be built: its reason says what to install.
    """
    release = release_of_tests()
    why = "" if is_built(release) else why_not_buildable()
    if why:
        pytest.skip(f"The real control plane cannot be built, because {why}")
    return build(ProgressLines(sys.stderr).progress, release)


def release_of_tests() -> Release:
    """Return the version of Kubernetes that tests run on."""
    return RELEASES[os.environ.get("TIDEGATE_TEST_KUBERNETES", NEWEST.version)]


@contextmanager
def counted(path: Path, step: int = 1) -> Generator[int]:
    """Count the users of something, across processes; others wait until the block ends."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        count = (int(path.read_text()) if path.exists() else 0) + step
        yield count
        path.write_text(str(count))
