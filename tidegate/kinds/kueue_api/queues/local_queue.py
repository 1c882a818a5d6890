"""LocalQueue in v1beta2."""

from __future__ import annotations

from typing import Annotated

import msgspec

from tidegate.kinds.kueue_api.queues.policies import StopPolicy
from tidegate.kinds.kueue_api.queues.quotas import FairSharing, LocalUsages
from tidegate.kinds.markers import Int32, Name, Quantity, Rule, Time, ruled, said
from tidegate.kinds.meta import Conditions, ObjectMeta


class LocalQueueSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Which ClusterQueue a namespace's queue leads to."""

    cluster_queue: Annotated[
        Name | None, ruled(Rule("self == oldSelf", "clusterQueue is immutable"))
    ] = None
    stop_policy: StopPolicy = "None"
    fair_sharing: FairSharing | None = None


class AdmissionFairSharingStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """What went through a LocalQueue, decayed."""

    consumed_resources: dict[str, Quantity]
    last_update: Time


class LocalFairSharingStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """The share that a LocalQueue has."""

    weighted_share: Annotated[int, said(format="int64")] = 0
    admission_fair_sharing_status: AdmissionFairSharingStatus | None = None


class LocalQueueStatus(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """How a LocalQueue stands."""

    conditions: Conditions = ()
    pending_workloads: Int32 | None = None
    reserving_workloads: Int32 | None = None
    admitted_workloads: Int32 | None = None
    flavors_reservation: LocalUsages = ()
    flavors_usage: LocalUsages = ()
    fair_sharing: LocalFairSharingStatus | None = None


class LocalQueue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A namespace's door to a ClusterQueue."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()
