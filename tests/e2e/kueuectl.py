"""Kueue's own command line, built from its Go module into the user's cache folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tidegate.cluster.go.building import find_go
from tidegate.cluster.places import cache_folder

MODULE = "sigs.k8s.io/kueue@v0.16.1"
BUILD_S = 1_800


@pytest.fixture(scope="session")
def kueuectl() -> Path:
    """Return the program; skip where Go or the module is not to be had."""
    go = find_go()
    if go is None:
        pytest.skip("Go is missing to build kueuectl with: install it (https://go.dev/dl).")
    folder = cache_folder() / MODULE.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "kubectl-kueue"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            source = _downloaded(str(go))
            command = [str(go), "build", "-trimpath", "-o", str(program), "./cmd/kueuectl"]
            _run(command, source)
    return program


def _downloaded(go: str) -> Path:
    done = subprocess.run(
        [go, "mod", "download", "-json", MODULE],
        cwd=cache_folder(),
        capture_output=True,
        check=False,
        timeout=BUILD_S,
    )
    answer = msgspec.json.decode(done.stdout or b"{}")
    if done.returncode:
        error = answer.get("Error", done.stderr.decode())
        pytest.skip(f"Go could not fetch {MODULE} ({error}): let it reach a module proxy.")
    return Path(answer["Dir"])


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=readonly"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=BUILD_S
    )
    assert done.returncode == 0, done.stderr.decode()
