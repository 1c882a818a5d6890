"""The settings of ingest, by flag or by environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from ingest.watch import Pace
from tidegate.jobs import workload
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.registry import JOB_KINDS, check_frameworks, job_kind
from tidegate.kube.credentials import Access
from tidegate.service.settings import KubernetesSettings


class Settings(KubernetesSettings, frozen=True, kw_only=True):
    """Settings of ingest."""

    frameworks: Annotated[
        tuple[str, ...],
        Meta(
            description=f"kinds of jobs to watch, of {', '.join(JOB_KINDS)}; unset: what the "
            "configuration enables, and Workloads that were made directly"
        ),
    ] = ()
    page_max: Annotated[int, Meta(ge=1, description="objects per page of a list")] = 500
    watch_s: Annotated[
        float, Meta(ge=5, description="seconds after which a watch is opened again")
    ] = 30.0
    relist_s: Annotated[
        float,
        Meta(
            ge=10,
            le=21_600,  # bodies of placed jobs are kept for a day, and stored again with each list
            description="seconds between two lists of a resource",
        ),
    ] = 600.0

    lease_s: Annotated[
        int,
        Meta(ge=3, description="seconds without a renewal after which another ingest takes over"),
    ] = 15

    def access(self) -> Access:
        """Return how to reach the API server."""
        return Access(
            url=self.api_url,
            token=self.api_token,
            kubeconfig=self.kubeconfig,
            context=self.context,
            quick=True,
        )

    def kinds(self, enabled: Sequence[str]) -> list[JobKind[Any]]:
        """Return the kinds to watch.

        Raises:
            NotSupportedError: there is none of a name.
        """
        if self.frameworks:
            return [job_kind(name) for name in self.frameworks]
        check_frameworks(enabled)
        groups = (pod_group.NAME,) if pod.NAME in enabled else ()
        names = dict.fromkeys((*enabled, *groups, workload.NAME))
        return [JOB_KINDS[name] for name in names if name in JOB_KINDS]

    def pace(self) -> Pace:
        """Return how lists and watches are paced."""
        return Pace(page_max=self.page_max, watch_s=self.watch_s, relist_s=self.relist_s)
