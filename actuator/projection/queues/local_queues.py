"""LocalQueues: the ClusterQueue that each leads to, and the workloads that name it."""

from __future__ import annotations

from collections.abc import Iterator


class LocalQueues:
    """The LocalQueues that are defined or named, by "<namespace>/<name>"."""

    def __init__(self) -> None:
        self.leads_to = dict[str, str]()  # LocalQueue to ClusterQueue
        self._workloads = dict[str, dict[str, None]]()

    def lead(self, local_queue: str, cluster_queue: str) -> str:
        """Let a LocalQueue lead to a ClusterQueue, empty: it is gone; return where it led."""
        before = self.leads_to.pop(local_queue, "")
        if cluster_queue:
            self.leads_to[local_queue] = cluster_queue
        return before

    def leading_to(self, cluster_queue: str) -> Iterator[str]:
        """Yield the LocalQueues that lead to a ClusterQueue."""
        return (name for name, target in self.leads_to.items() if target == cluster_queue)

    def add(self, local_queue: str, workload: str) -> None:
        """Remember that a workload names a LocalQueue, which may not be defined."""
        self._workloads.setdefault(local_queue, {})[workload] = None

    def discard(self, local_queue: str, workload: str) -> None:
        """Forget that a workload named a LocalQueue."""
        workloads = self._workloads.get(local_queue, {})
        workloads.pop(workload, None)
        if not workloads:
            self._workloads.pop(local_queue, None)

    def workloads(self, local_queue: str) -> list[str]:
        """Return the workloads that name a LocalQueue."""
        return list(self._workloads.get(local_queue, ()))
