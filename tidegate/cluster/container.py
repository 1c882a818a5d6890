"""k3s in a container, where a container engine answers.

A docker command without an engine is common, so the engine is asked and not the command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from tidegate.errors import TidegateError

IMAGE = "rancher/k3s:v1.36.3-k3s1"
_ENGINES = ("docker", "podman")
_ASK_S, _RUN_S, _READY_S, _POLL_S = 10, 600, 120.0, 0.5
_KUBECONFIG = "/etc/rancher/k3s/k3s.yaml"
_WITHOUT = "traefik,metrics-server,servicelb,local-storage"


class ContainerError(TidegateError):
    """The container engine refused, or k3s did not come up; the message has its output."""


def find_engine() -> str:
    """Return the container command whose engine answers, or an empty text."""
    for name in _ENGINES:
        path = shutil.which(name)
        if path is not None and _answers(path):
            return path
    return ""


def start_container(name: str, kubeconfig: Path, report: Callable[[str], None]) -> None:
    """Start k3s in a container of this name, or find it running; write its kubeconfig.

    Raises:
        ContainerError: no engine answers, it refused, or k3s is not ready in time.
    """
    command = find_engine()
    if not command:
        raise ContainerError("No container engine answers: start docker or podman, or use --on go.")
    if not _is_running(command, name):
        image = os.environ.get("TIDEGATE_K3S_IMAGE", IMAGE)
        report(f"starting {image} with {command}")
        _run(command, "rm", "--force", "--volumes", name, check=False)
        server = ["server", f"--disable={_WITHOUT}", "--tls-san=127.0.0.1"]
        port = "--publish=127.0.0.1::6443"
        _run(command, "run", "--detach", "--privileged", f"--name={name}", port, image, *server)
    deadline = time.monotonic() + _READY_S
    while not _write_kubeconfig(command, name, kubeconfig):
        if time.monotonic() > deadline or not _is_running(command, name):
            logs = _run(command, "logs", "--tail=5", name, check=False)
            raise ContainerError(f"k3s did not come up in container {name}:\n{logs}")
        time.sleep(_POLL_S)


def remove_container(name: str) -> None:
    """Remove the container of this name and its volumes."""
    if command := find_engine():
        _run(command, "rm", "--force", "--volumes", name, check=False)


def is_running(name: str) -> bool:
    """Return whether the container of this name runs."""
    command = find_engine()
    return bool(command) and _is_running(command, name)


def _answers(command: str) -> bool:
    arguments = ["version", "--format", "{{.Server.Version}}"]
    try:
        result = subprocess.run(  # noqa: S603 - found on the PATH
            [command, *arguments], capture_output=True, timeout=_ASK_S, check=False
        )
    except (subprocess.TimeoutExpired, OSError):
        return False
    return result.returncode == 0 and bool(result.stdout.strip())


def _is_running(command: str, name: str) -> bool:
    state = _run(command, "inspect", "--format={{.State.Running}}", name, check=False)
    return state.strip() == "true"


def _write_kubeconfig(command: str, name: str, kubeconfig: Path) -> bool:
    text = _run(command, "exec", name, "cat", _KUBECONFIG, check=False)
    ready = _run(command, "exec", name, "kubectl", "get", "--raw=/readyz", check=False)
    if not text.startswith("apiVersion") or ready.strip() != "ok":
        return False
    ports = json.loads(_run(command, "inspect", "--format={{json .NetworkSettings.Ports}}", name))
    config = yaml.safe_load(text)
    address = f"https://127.0.0.1:{ports['6443/tcp'][0]['HostPort']}"
    config["clusters"][0]["cluster"]["server"] = address
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(yaml.safe_dump(config))
    return True


def _run(command: str, *arguments: str, check: bool = True) -> str:
    result = subprocess.run(  # noqa: S603 - found on the PATH
        [command, *arguments], capture_output=True, text=True, timeout=_RUN_S, check=False
    )
    if check and result.returncode:
        raise ContainerError(f"{command} {arguments[0]} failed: {result.stderr.strip()}")
    return result.stdout
