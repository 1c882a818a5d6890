"""``python -m tests.parts.guard FOLDER PID``: ends a control plane whose test run was killed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tidegate.cluster.go.plane import ControlPlane

POLL_S = 0.5


def main(folder: str, pid: str) -> None:
    """Wait until the control plane is down, or its owner is gone and leaves that to us."""
    plane = ControlPlane(Path(folder), Path())
    while Path(f"/proc/{pid}").exists() and plane.processes():
        time.sleep(POLL_S)
    plane.remove()


if __name__ == "__main__":
    main(*sys.argv[1:])
