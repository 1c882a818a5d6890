"""The control plane from Go keeps its objects when a part of it dies, and ends without a trace."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cluster.talking import Talk, condition_status, job
from tests.parts.kubernetes import binaries, make_namespace
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import ControlPlane, PlaneError
from tidegate.cluster.processes import is_alive
from tidegate.errors import ApiUnreachableError
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

pytestmark = pytest.mark.real


def ignore(*_: object) -> None:
    """Drop a message of the control plane."""


@pytest.mark.parametrize("component", ["kube-apiserver", "etcd"])
async def test_objects_outlive_the_death_of_a_part(own_plane: ControlPlane, component: str) -> None:
    async with connect(Access(kubeconfig=str(own_plane.kubeconfig))) as api:
        kube = Talk(api, await make_namespace(api), lambda: None)
        made = await kube.make(kube.maps, {"metadata": {"name": "a"}})
        own_plane.kill(component)
        assert not own_plane.is_up()
        own_plane.start(component)
        await eventually_up(own_plane)
        obj = await kube.until(f"{kube.maps}/a", lambda obj: obj)
        assert obj["metadata"]["uid"] == made["metadata"]["uid"]


async def eventually_up(plane: ControlPlane) -> None:
    """Wait for the API server, which needs a moment after etcd came back."""
    async with connect(Access(kubeconfig=str(plane.kubeconfig))) as api:
        while (await api.request("GET", "/readyz")).status != 200:
            assert plane.processes()


@pytest.mark.slow
async def test_a_dead_server_is_unreachable_and_its_history_is_gone(
    own_plane: ControlPlane,
) -> None:
    async with connect(Access(kubeconfig=str(own_plane.kubeconfig))) as api:
        kube = Talk(api, await make_namespace(api), lambda: None)
        await kube.make(kube.leases, {"metadata": {"name": "a"}})
        own_plane.kill("kube-apiserver")
        with pytest.raises(ApiUnreachableError):
            await kube.get(kube.leases)
        own_plane.start("kube-apiserver")
        async with kube.watch(kube.leases, resourceVersion="1") as events:
            current_events = [event async for event in events]
        assert [(event["type"], event["object"]["code"]) for event in current_events] == [
            ("ERROR", 410)
        ]


@pytest.mark.slow
async def test_jobs_end_though_the_nodes_were_restarted(own_plane: ControlPlane) -> None:
    async with connect(Access(kubeconfig=str(own_plane.kubeconfig))) as api:
        kube = Talk(api, await make_namespace(api), lambda: None)
        # Long enough to be seen running on a busy machine: a Job's status is written once a second.
        await kube.make(kube.jobs, job("a", seconds="12"))
        await kube.until(f"{kube.jobs}/a", lambda obj: obj["status"].get("ready") == 1)
        own_plane.kill("nodes")
        own_plane.start("nodes")
        done = await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Complete"))
        assert (condition_status(done, "Complete"), done["status"].get("failed")) == ("True", None)


def test_up_on_the_same_folder_has_the_same_objects_and_down_leaves_nothing_running(
    tmp_path: Path,
) -> None:
    plane = ControlPlane(tmp_path, binaries())
    plane.up(ignore)
    started = plane.processes()
    plane.up(ignore)
    assert plane.processes() == started
    plane.down()
    assert not any(is_alive(process) for process in started)
    assert plane.processes() == ()
    assert (tmp_path / "etcd").is_dir()
    plane.remove()
    assert not tmp_path.exists()


def test_a_part_that_ends_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    binaries()
    (tmp_path / "bin").mkdir()
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho cannot go on >&2\nexit 1\n")
        (tmp_path / "bin" / name).chmod(0o700)
    plane = ControlPlane(tmp_path / "plane", tmp_path / "bin")
    with pytest.raises(PlaneError, match="etcd ended at once:\ncannot go on"):
        plane.up(ignore)
    assert plane.processes() == ()


def test_what_is_built_is_not_built_again() -> None:
    folder = binaries()
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert build(ignore) == folder
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {**before, "lock": 0} == {**after, "lock": 0}


def test_only_state_is_asked_to_end_in_peace(own_plane: ControlPlane) -> None:
    own_plane.kill("kube-scheduler", signal.SIGTERM)
    names = {process.name for process in own_plane.processes() if is_alive(process)}
    assert names == {"etcd", "kube-apiserver", "kube-controller-manager", "nodes"}
    own_plane.start("kube-scheduler")
    assert own_plane.is_up()
