"""The settings of the scheduler, by flag or by environment; policy comes from ``--config``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from scheduler.dependencies import Pace
from scheduler.events_retention import Window
from tidegate.contracts.subjects import CLUSTER_NAME
from tidegate.errors import NotSupportedError
from tidegate.model.clusters import MEMBERS_MAX
from tidegate.model.ids import PARTITION_MAX
from tidegate.model.policy import Policy
from tidegate.service.settings import ServiceSettings


class Settings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of the scheduler."""

    ledger: Annotated[
        str, Meta(description="the ledger: sqlite:///FILE, a file, or postgresql://USER@HOST/DB")
    ] = "sqlite:///tidegate.db"
    migrate: Annotated[bool, Meta(description="migrate the ledger's schema at the start")] = True
    compatibility: Annotated[
        Literal["tidegate", "kueue"],
        Meta(description="kueue: decide as Kueue does, even if workloads preempt in circles"),
    ] = "tidegate"
    member_clusters: Annotated[
        tuple[Annotated[str, Meta(pattern=CLUSTER_NAME)], ...],
        Meta(max_length=MEMBERS_MAX, description="clusters whose jobs are in this ledger too"),
    ] = ()
    partition: Annotated[
        int,
        Meta(
            ge=0,
            le=PARTITION_MAX,
            description="the partition that this scheduler decides: ClusterQueues and Cohorts name "
            "theirs in tidegate.dev/partition",
        ),
    ] = 0
    lease_s: Annotated[
        float,
        Meta(ge=1, description="seconds without a renewal after which a standby takes over"),
    ] = 15.0
    messages_max: Annotated[
        int, Meta(ge=1, le=10_000, description="maximum number of observations read in one turn")
    ] = 1_000
    forget_messages: Annotated[
        int, Meta(ge=1, description="observations read before the stream OBSERVATIONS is purged")
    ] = 2_000
    snapshot_entries: Annotated[
        int,
        Meta(ge=100, description="minimum number of entries between two snapshots"),
    ] = 10_000
    partition_events: Annotated[
        int, Meta(ge=1_000, description="events per partition of ledger_event in PostgreSQL")
    ] = 5_000_000
    rest_s: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="minimum seconds between turns under load; more seconds make larger turns",
        ),
    ] = 0.02
    events_bytes: Annotated[
        int, Meta(ge=1_048_576, description="maximum size of the stream EVENTS in bytes")
    ] = 512 * 1024 * 1024
    events_age_s: Annotated[
        int, Meta(ge=60, description="seconds for which the stream EVENTS keeps an event")
    ] = 604_800
    observations_bytes: Annotated[
        int,
        Meta(
            ge=1_048_576,
            description="maximum bytes of the stream OBSERVATIONS; ingest waits while it is full",
        ),
    ] = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        """See ``ServiceSettings``; a cluster is no member of itself, nor a member twice.

        Raises:
            ValueError: it would be, or a partition other than 0 has members.
        """
        super().__post_init__()
        names = {self.cluster, *self.member_clusters}
        if len(names) != 1 + len(self.member_clusters):
            listed = ",".join(self.member_clusters)
            message = f"--member-clusters {listed}: each once, and not {self.cluster} itself"
            raise ValueError(message)
        if self.partition and self.member_clusters:
            message = "--member-clusters: partition 0 alone decides for member clusters"
            raise ValueError(message)

    def pace(self) -> Pace:
        """Return the batch sizes and timeouts."""
        return Pace(
            messages_max=self.messages_max,
            forget_messages=self.forget_messages,
            lease_s=self.lease_s,
            snapshot_entries=self.snapshot_entries,
            rest_s=self.rest_s,
        )

    def window(self) -> Window:
        """Return the retention of EVENTS, and how much is published again after a loss."""
        return Window(bytes_max=self.events_bytes, age_us=self.events_age_s * 1_000_000)


def check_partition_policy(partition: int, policy: Policy) -> None:
    """Refuse a configuration under which another partition than 0 cannot decide alone.

    Raises:
        NotSupportedError: each admission would wait for the starts of all partitions.
    """
    if partition and policy.pods_ready is not None and policy.pods_ready.block_admission:
        raise NotSupportedError(
            f"waitForPodsReady.blockAdmission cannot be had in partition {partition}: each "
            "admission would wait for starts that other partitions decide about."
        )
