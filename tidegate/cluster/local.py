"""The local Kubernetes of an instance, in four forms: start, status, stop.

Which form it is stands in ``cluster.json`` of the instance's folder, so that every command finds
the cluster that ``start_cluster`` brought up.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tidegate.cluster import container
from tidegate.cluster.go.building import Progress, build, is_built
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.processes import Process, is_alive, last_lines, spawn, stop
from tidegate.errors import NotSupportedError, TidegateError

FORMS = ("kubeconfig", "container", "go", "embedded")
DESCRIPTIONS = {
    "kubeconfig": "an existing cluster, by its kubeconfig",
    "container": "k3s in a container",
    "go": "a real control plane from Go, with simulated nodes",
    "embedded": "Tidegate's own small API server, with simulated nodes and objects in memory",
}
_READY_S, _POLL_S = 20.0, 0.05


class ClusterError(TidegateError):
    """A local cluster did not come up, or another form of it is up; the message has what to do."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that was brought up."""

    form: str  # one of FORMS
    kubeconfig: str  # path
    process: Process | None = None  # of the embedded server

    @property
    def description(self) -> str:
        """Return its form for people."""
        return f"{self.form} ({DESCRIPTIONS[self.form]})"


def choose_form(on: str, folder: Path) -> str:
    """Return the form that is meant by ``on``.

    ``auto`` is what is up in this folder, else the best that the machine has without a long wait.

    Raises:
        NotSupportedError: there is no such form.
    """
    existing = current_cluster(folder)
    if on == "auto" and existing is not None and is_up(existing, folder):
        return existing.form
    if on == "auto":
        return "container" if container.find_engine() else "go" if is_built() else "embedded"
    if on not in FORMS:
        raise NotSupportedError(f"--on {on} is not one of auto, {', '.join(FORMS)}.")
    return on


def start_cluster(
    form: str, folder: Path, report: Callable[[str], None], progress: Progress
) -> Cluster:
    """Start a cluster of a form and return it; return a cluster that already runs.

    Raises:
        ClusterError: another form is up in this folder, or it did not come up.
        NotBuildableError: Go is missing for form ``go``.
        PlaneError: a component of form ``go`` did not come up.
        ContainerError: no container engine answers for form ``container``.
        NotSupportedError: there is no kubeconfig for form ``kubeconfig``.
    """
    existing = current_cluster(folder)
    if existing is not None and is_up(existing, folder):
        if existing.form != form:
            message = f"The instance's cluster is {existing.description}: bring it down first."
            raise ClusterError(message)
        return existing
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    match form:
        case "kubeconfig":
            cluster = Cluster(form=form, kubeconfig=str(find_kubeconfig()))
        case "container":
            container.start_container(_container_name(folder), folder / "kubeconfig", report)
            cluster = Cluster(form=form, kubeconfig=str(folder / "kubeconfig"))
        case "go":
            plane = ControlPlane(folder / "go", build(progress))
            plane.up(report)
            cluster = Cluster(form=form, kubeconfig=str(plane.kubeconfig))
        case _:
            cluster = _start_embedded(folder)
    _record_path(folder).write_bytes(msgspec.json.encode(cluster))
    return cluster


def stop_cluster(folder: Path) -> Cluster | None:
    """Bring down what is up and return it; an existing cluster is only forgotten.

    Objects of form ``go`` are kept for the next ``start_cluster``; those of the others are gone.
    """
    cluster = current_cluster(folder)
    match cluster.form if cluster else "":
        case "container":
            container.remove_container(_container_name(folder))
        case "go":
            ControlPlane(folder / "go", Path()).down()
        case "embedded":
            assert cluster is not None
            if cluster.process is not None:
                stop(cluster.process)
        case _:
            pass
    _record_path(folder).unlink(missing_ok=True)
    return cluster


def current_cluster(folder: Path) -> Cluster | None:
    """Return the cluster that was brought up last and not down since, or None."""
    record = _record_path(folder)
    if not record.exists():
        return None
    return msgspec.json.decode(record.read_bytes(), type=Cluster)


def is_up(cluster: Cluster, folder: Path) -> bool:
    """Return whether a cluster's own processes run; an existing cluster is taken at its word."""
    match cluster.form:
        case "container":
            return container.is_running(_container_name(folder))
        case "go":
            return ControlPlane(folder / "go", Path()).is_up()
        case "embedded":
            return cluster.process is not None and is_alive(cluster.process)
        case _:
            return True


def _start_embedded(folder: Path) -> Cluster:
    kubeconfig, log = (folder / "kubeconfig").resolve(), folder / "logs" / "embedded.log"
    kubeconfig.unlink(missing_ok=True)
    command = [sys.executable, "-P", "-m", "apiserver", f"--kubeconfig={kubeconfig}"]
    process = spawn("embedded", command, log)
    deadline = time.monotonic() + _READY_S
    while not kubeconfig.exists():  # it is written once the server listens
        if not is_alive(process) or time.monotonic() > deadline:
            stop(process)
            raise ClusterError(f"The embedded server did not come up:\n{last_lines(process)}")
        time.sleep(_POLL_S)
    return Cluster(form="embedded", kubeconfig=str(kubeconfig), process=process)


def _record_path(folder: Path) -> Path:
    return folder / "cluster.json"


def _container_name(folder: Path) -> str:
    return f"tidegate-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]}"


def find_kubeconfig() -> Path:
    """Return the kubeconfig that kubectl would use.

    Raises:
        NotSupportedError: there is none, or KUBECONFIG names several files.
    """
    named = os.environ.get("KUBECONFIG", "")
    if os.pathsep in named:
        raise NotSupportedError("KUBECONFIG names several files: name one.")
    path = Path(named) if named else Path.home() / ".kube" / "config"
    if not path.is_file():
        raise NotSupportedError(f"There is no kubeconfig at {path}: set KUBECONFIG.")
    return path.resolve()
