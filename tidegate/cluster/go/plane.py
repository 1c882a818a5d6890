"""One local control plane: start, readiness, restart of a component, stop.

Its folder keeps the objects: a control plane that comes up again in the same folder has them all,
under new ports and a new kubeconfig. A component that is started again alone keeps its ports.
"""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from tidegate.cluster.go.components import (
    Layout,
    Ports,
    component_commands,
    component_environment,
    write_scheduler_config,
)
from tidegate.cluster.go.credentials import write_credentials
from tidegate.cluster.processes import Process, is_alive, last_lines, spawn, stop
from tidegate.errors import TidegateError
from tidegate.ports import free_ports

NODES_COUNT = 3
"""Simulated nodes, unless so many are asked for."""
_READY_S, _POLL_S, _ASK_S, _OK = 90.0, 0.05, 2.0, 200
_KEEP_STATE = ("etcd", "kube-apiserver")  # the others are killed: they have nothing to finish


class PlaneError(TidegateError):
    """The control plane did not come up; the message says which part and what it logged."""


class _Record(msgspec.Struct, frozen=True):
    """What is written down about a control plane that was brought up."""

    ports: Ports
    processes: tuple[Process, ...]


class ControlPlane:
    """etcd, API server, controller manager, scheduler and simulated nodes of one folder."""

    def __init__(
        self,
        folder: Path,
        binaries: Path,
        nodes_count: int = NODES_COUNT,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._layout = Layout(binaries, folder.resolve(), nodes_count)
        self._environ = environ  # the components' environment
        self._record_path = self._layout.folder / "control-plane.json"

    @property
    def kubeconfig(self) -> Path:
        """Return where the kubeconfig is, once it is up."""
        return self._layout.kubeconfig

    def up(self, report: Callable[[str], None]) -> None:
        """Start every component and wait until the API server is ready; does nothing if it is up.

        Raises:
            PlaneError: a component ended, or was not ready in time; nothing is left running.
        """
        if self.is_up():
            return
        self.down()
        self._layout.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        ports = Ports(*free_ports(3))
        write_credentials(self._layout.folder, f"https://127.0.0.1:{ports.api}")
        write_scheduler_config(self._layout)
        self._write(_Record(ports, ()))
        try:
            for name in component_commands(self._layout, ports):
                report(f"starting {name}")
                self.start(name)
        except PlaneError:
            self.down()
            raise

    def down(self) -> None:
        """Stop every component that runs, the last started first; the folder stays."""
        for process in reversed(self.processes()):
            stop(process, signal.SIGTERM if process.name in _KEEP_STATE else signal.SIGKILL)
        if record := self._read():
            self._write(_Record(record.ports, ()))

    def remove(self) -> None:
        """Stop everything and forget every object."""
        self.down()
        shutil.rmtree(self._layout.folder, ignore_errors=True)

    def is_up(self) -> bool:
        """Return whether every component runs and the API server is ready."""
        record = self._read()
        running = {process.name for process in self.processes() if is_alive(process)}
        return (
            record is not None
            and running == set(component_commands(self._layout, record.ports))
            and (self._is_ready("kube-apiserver", record.ports))
        )

    def processes(self) -> tuple[Process, ...]:
        """Return what was started; some of it may have ended since."""
        record = self._read()
        return record.processes if record else ()

    def start(self, name: str) -> None:
        """Start one component that does not run, on the ports that it had, and wait for it.

        Raises:
            PlaneError: it ended, or was not ready in time.
        """
        record = self._read()
        assert record is not None, "a component is started after the whole was"
        others = tuple(p for p in record.processes if p.name != name)
        command = component_commands(self._layout, record.ports)[name]
        log = self._layout.folder / "logs" / f"{name}.log"
        process = spawn(name, command, log, component_environment(name, self._environ))
        self._write(_Record(record.ports, (*others, process)))
        self._wait_ready(process, record.ports)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """End one component, as a crash does unless another signal is named."""
        for process in self.processes():
            if process.name == name:
                stop(process, number)

    def _wait_ready(self, process: Process, ports: Ports) -> None:
        deadline = time.monotonic() + _READY_S
        while not self._is_ready(process.name, ports):
            if not is_alive(process):
                raise PlaneError(f"{process.name} ended at once:\n{last_lines(process)}")
            if time.monotonic() > deadline:
                message = f"{process.name} is not ready after {_READY_S:.0f} s"
                raise PlaneError(f"{message}:\n{last_lines(process)}")
            time.sleep(_POLL_S)

    def _is_ready(self, name: str, ports: Ports) -> bool:
        """Return whether a component is ready; a component without a port always is."""
        match name:
            case "etcd":
                return _is_ok(f"http://127.0.0.1:{ports.etcd}/health", None)
            case "kube-apiserver":
                context = ssl.create_default_context(cafile=str(self._layout.folder / "tls.crt"))
                return _is_ok(f"https://127.0.0.1:{ports.api}/readyz", context)
            case _:
                return True

    def _read(self) -> _Record | None:
        if not self._record_path.exists():
            return None
        return msgspec.json.decode(self._record_path.read_bytes(), type=_Record)

    def _write(self, record: _Record) -> None:
        fresh = self._record_path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(record))
        fresh.replace(self._record_path)


def _is_ok(url: str, context: ssl.SSLContext | None) -> bool:
    # Never through a proxy that the environment names: it cannot reach our loopback.
    handlers = [urllib.request.ProxyHandler({})]
    secure = [urllib.request.HTTPSHandler(context=context)] if context else []
    try:
        with urllib.request.build_opener(*handlers, *secure).open(url, timeout=_ASK_S) as answer:
            return bool(answer.status == _OK)
    except (urllib.error.URLError, OSError):
        return False
