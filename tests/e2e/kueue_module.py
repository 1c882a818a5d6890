"""Kueue's own programs, built from its Go module into the user's cache folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from tidegate.cluster.go.building import cache_folder, find_go

PATH = "sigs.k8s.io/kueue"
BUILD_S = 3_600


class KueueModule:
    """One version of Kueue's module, downloaded; the test is skipped where that cannot be."""

    def __init__(self, version: str) -> None:
        go = find_go()
        if go is None:
            pytest.skip("Go is missing to build Kueue with: install it (https://go.dev/dl).")
        self._go, name = go, f"{PATH}@{version}"
        self._folder = cache_folder() / name.replace("/", "-")
        self._folder.mkdir(parents=True, exist_ok=True)
        self.source = _downloaded(go, name)  # where its files are

    def program(self, command: str, name: str) -> Path:
        """Build what is in the folder ``cmd/<command>``, unless that was done; return its path."""
        program = self._folder / name
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                words = [self._go, "build", "-trimpath", "-o", str(program), f"./cmd/{command}"]
                _run(["nice", *words], self.source)
        return program


def _downloaded(go: str, module: str) -> Path:
    done = subprocess.run(
        [go, "mod", "download", "-json", module],
        cwd=cache_folder(),
        capture_output=True,
        check=False,
        timeout=BUILD_S,
    )
    answer = msgspec.json.decode(done.stdout or b"{}")
    if done.returncode:
        error = answer.get("Error", done.stderr.decode())
        pytest.skip(f"Go could not fetch {module} ({error}): let it reach a module proxy.")
    return Path(answer["Dir"])


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, timeout=BUILD_S
    )
    assert done.returncode == 0, done.stderr.decode()
