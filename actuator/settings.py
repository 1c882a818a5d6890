"""The settings of the actuator, by flag or by environment."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tidegate.contracts.subjects import CLUSTER_NAME
from tidegate.kube.credentials import Access
from tidegate.model.ids import PARTITION_MAX
from tidegate.service.settings import KubernetesSettings


class Settings(KubernetesSettings, frozen=True, kw_only=True):
    """Settings of the actuator."""

    hub: Annotated[
        str,
        Meta(
            pattern=f"{CLUSTER_NAME}|^$",
            description="the cluster whose scheduler decides for this one, its member; unset: its "
            "own scheduler does",
        ),
    ] = ""
    partition: Annotated[
        int,
        Meta(
            ge=0,
            le=PARTITION_MAX,
            description="the partition whose scheduler's decisions are carried out",
        ),
    ] = 0
    workers: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="number of jobs that are started or stopped at the same time",
        ),
    ] = 32
    lease_s: Annotated[
        int,
        Meta(ge=3, description="seconds without a renewal after which another actuator takes over"),
    ] = 10
    project: Annotated[
        bool, Meta(description="write Workload objects, queue statuses and Kubernetes Events")
    ] = True
    provision: Annotated[
        bool, Meta(description="handle the admission checks that ask an autoscaler for nodes")
    ] = True
    projections_per_s: Annotated[
        float, Meta(gt=0, description="maximum number of these writes per second")
    ] = 50.0

    def __post_init__(self) -> None:
        """See ``ServiceSettings``.

        Raises:
            ValueError: a member cluster follows another partition than 0.
        """
        super().__post_init__()
        if self.partition and self.hub:
            message = "--hub: partition 0 alone decides for member clusters"
            raise ValueError(message)

    def access(self) -> Access:
        """Return how to reach the API server."""
        return Access(
            url=self.api_url,
            token=self.api_token,
            kubeconfig=self.kubeconfig,
            context=self.context,
            connections_max=2 * self.workers + 16,  # half as many again show, a few watch
            quick=True,
        )
