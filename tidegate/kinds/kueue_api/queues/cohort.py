"""Cohort in v1beta2."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from tidegate.kinds.kueue_api.queues.quotas import (
    FairSharing,
    FairSharingStatus,
    ResourceGroups,
    limits_need,
)
from tidegate.kinds.markers import Name, Rule
from tidegate.kinds.meta import ObjectMeta


class CohortSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A cohort's place in the tree, and its own quota."""

    rules: ClassVar[tuple[Rule, ...]] = limits_need(
        "a parent: set parentName", "parentName", "parent"
    )
    parent_name: Name | None = None  # None: a root
    resource_groups: ResourceGroups = ()
    fair_sharing: FairSharing | None = None


class CohortStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How a Cohort stands."""

    fair_sharing: FairSharingStatus | None = None


class Cohort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Queues and cohorts that lend each other what they do not use."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()
