"""``python -m tidegate.cluster.go build``: builds the local control plane, once."""

from __future__ import annotations

import argparse
import sys

from tidegate.cluster.go.building import (
    NEWEST,
    RELEASES,
    NotBuildableError,
    build,
    is_built,
    why_not_buildable,
)
from tidegate.cluster.progress import ProgressLines


def main() -> int:
    """Read the command line, build, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tidegate.cluster.go")
    parser.add_argument("command", choices=["build"])
    parser.add_argument(
        "--if-possible", action="store_true", help="say why not and end well where Go is missing"
    )
    parser.add_argument("--kubernetes", choices=RELEASES, default=NEWEST.version)
    arguments = parser.parse_args()
    release, lines = RELEASES[arguments.kubernetes], ProgressLines(sys.stdout)
    if not is_built(release) and arguments.if_possible and (why := why_not_buildable()):
        lines.write_line(f"the local control plane is not built: {why}")
        return 0
    try:
        lines.write_line(f"control plane {release.version} is in {build(lines.progress, release)}")
    except NotBuildableError as error:
        lines.write_line(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
