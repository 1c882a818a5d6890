"""Names that several parts know: objects, pairs of flavor and resource, reasons of conditions."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

UNSATISFIED_CHECKS = "UnsatisfiedAdmissionChecks"
"""Of Admitted=False: quota is reserved, and an admission check is not ready (behaviour.md 8.3)."""
NOT_WATCHED = "NotWatched"
"""Why a workload is removed though its job may be there."""
DECIDED_ELSEWHERE = "DecidedElsewhere"
"""The same: another partition decides about its queue."""

PARTITION_MAX = 999
PARTITION_NUMBER = "^(0|[1-9][0-9]{0,2})$"
"""How a partition is written, and no other way: two names of one would be two to a policy."""


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One Kubernetes object; a namesake made later has another uid."""

    kind: str  # the job kind's name in ``tidegate.jobs.registry``, e.g. "batch/job"
    namespace: str = ""  # empty for what is cluster-wide
    name: str
    uid: str = ""
    cluster: str = ""  # a member cluster; empty: the ledger's own


class FlavorResource(NamedTuple):
    """A pair that quota counts in, e.g. ``("on-demand", "cpu")``."""

    flavor: str
    resource: str
