"""Whether a kubeconfig is there: the client's library takes an absent one for an invalid one."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT = "~/.kube/config"


def existing(paths: str) -> str:
    """Return the kubeconfigs that are named, as $KUBECONFIG lists them; empty: the user's own.

    Raises:
        FileNotFoundError: none of them is there.
    """
    paths = paths or DEFAULT
    if not any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path):
        raise FileNotFoundError(f"there is no file {paths}")
    return paths
