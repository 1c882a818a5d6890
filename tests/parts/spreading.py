"""Spread tests over the workers of pytest-xdist so that what a package shares is made once.

Files of a package that share a control plane of their own go to one worker: else each worker would
bring one up for the package. So do the rules of the architecture, that share every module's syntax.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

_PACKAGES = ("tests/kinds/", "tests/deploy/", "tests/cluster/", "tests/architecture/")


class ByPlane(LoadFileScheduling):  # type: ignore[misc] # it ships no types
    """Sends whole files to a worker, and all files of a package that shares something costly."""

    def _split_scope(self, nodeid: str) -> str:
        package = next((name for name in _PACKAGES if nodeid.startswith(name)), None)
        return package or str(super()._split_scope(nodeid))
