"""Names that several packages use: object references, flavor-resources, reasons of conditions."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

UNSATISFIED_CHECKS = "UnsatisfiedAdmissionChecks"
"""Reason of Admitted=False: quota is reserved, and a check is not ready (behaviour.md 8.3)."""
NOT_WATCHED = "NotWatched"
"""Reason of a workload's removal: its kind is not watched any more; the job may still exist."""
DECIDED_ELSEWHERE = "DecidedElsewhere"
"""Reason of a workload's removal: its queue belongs to another partition; the job may exist."""

PARTITION_MAX = 999
PARTITION_NUMBER = "^(0|[1-9][0-9]{0,2})$"
"""The only form of a partition's number: to a policy, two forms would be two partitions."""


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One Kubernetes object; an object created later under its name has another uid."""

    kind: str  # the job kind's name in ``tidegate.jobs.registry``, e.g. "batch/job"
    namespace: str = ""  # empty: cluster-scoped
    name: str
    uid: str = ""
    cluster: str = ""  # a member cluster; empty: the ledger's own


class FlavorResource(NamedTuple):
    """A flavor and a resource, in which quota counts, e.g. ``("on-demand", "cpu")``."""

    flavor: str
    resource: str
