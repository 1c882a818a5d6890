"""Spread tests over the workers of pytest-xdist so that few control planes are brought up.

Files of a package that share a control plane of their own go to one worker: else each worker would
bring one up for the package.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

_PACKAGES = ("tests/kinds/", "tests/deploy/", "tests/cluster/")


class ByPlane(LoadFileScheduling):  # type: ignore[misc] # it ships no types
    """Sends whole files to a worker, and all files of a package with a control plane of its own."""

    def _split_scope(self, nodeid: str) -> str:
        package = next((name for name in _PACKAGES if nodeid.startswith(name)), None)
        return package or str(super()._split_scope(nodeid))
