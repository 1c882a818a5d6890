"""An existing cluster, by its kubeconfig; used only when it is asked for by name."""

from __future__ import annotations

import os
from pathlib import Path

from tidegate.errors import NotSupportedError


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
