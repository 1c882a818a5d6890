"""helm for tests: from the PATH, from this user's cache, or built into it with Go.

Building takes a few minutes, once; only long tests ask for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tidegate.cluster.go.building import cache_folder, find_go

HELM = "helm.sh/helm/v3/cmd/helm@v3.19.5"
BUILD_S = 900
WHERE = "https://helm.sh/docs/intro/install"


def helm() -> str:
    """Return the path of helm; skip the test if it can neither be found nor built."""
    kept = cache_folder() / f"helm-{HELM.rpartition('@')[2]}" / "helm"
    if text := shutil.which("helm") or (str(kept) if kept.exists() else None):
        return text
    go = find_go()
    if go is None:
        pytest.skip(
            f"Both helm and Go to build it with are missing: install helm ({WHERE}), or Go "
            "(https://go.dev/dl)."
        )
    _build(go, kept)
    return str(kept)


def _build(go: str, kept: Path) -> None:
    fresh = kept.parent / f"new-{os.getpid()}"
    done = subprocess.run(
        ["nice", go, "install", "-trimpath", "-ldflags", "-s -w", HELM],  # noqa: S607 - nice is everywhere
        env={**os.environ, "CGO_ENABLED": "0", "GOBIN": str(fresh), "GOFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(
            f"There is no helm, and Go could not build it ({done.stderr[-300:].strip()}): install "
            f"helm ({WHERE}), or let Go reach a module proxy."
        )
    (fresh / "helm").replace(kept)
    fresh.rmdir()
