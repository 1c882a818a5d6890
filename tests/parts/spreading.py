"""Spread tests over the workers of pytest-xdist: what is shared goes to one, what is long is first.

Files of a package that share a control plane of their own go to one worker: else each worker would
bring one up for the package. So do the rules of the architecture, that share every module's syntax.
"""

from __future__ import annotations

from functools import cache

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

PACKAGES = ("tests/kinds/", "tests/deploy/", "tests/cluster/", "tests/architecture/")
LONG = (
    *PACKAGES,
    "tests/simulation/",
    "tests/partitions/",
    "tests/serve/browser/",
    "tests/examples/",
    "tests/multikueue/",
    "tests/scheduler/test_main.py",
    "tests/scheduler/test_crash_matrix.py",
    "tests/core/multikueue/",
    "tests/differential/",
    "tests/notify/",
    "tests/rights/",
    "tests/store/test_fa",
    "tests/cli/test_doctor",
    "tests/e2e/test_multikueue",
    "tests/e2e/test_topology",
    "tests/e2e/test_elastic",
)
"""Whose few tests take long: begun last, one of them would be waited for by idle workers."""


class ByPlane(LoadFileScheduling):  # type: ignore[misc] # it ships no types
    """Sends whole files to a worker, and all files of a package that shares something costly."""

    def _split_scope(self, nodeid: str) -> str:
        package = next((name for name in PACKAGES if nodeid.startswith(name)), None)
        return package or str(super()._split_scope(nodeid))

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give a worker the first of what is long, and then what has the most tests."""
        self.workqueue.move_to_end(min(self.workqueue, key=_rank), last=False)
        super()._assign_work_unit(node)


@cache
def _rank(scope: str) -> int:
    return next((rank for rank, name in enumerate(LONG) if scope.startswith(name)), len(LONG))
