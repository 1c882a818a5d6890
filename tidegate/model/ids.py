"""Names of things: a Kubernetes object, and a flavor's resource."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class ObjectRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One Kubernetes object; a namesake made later has another uid."""

    kind: str  # the job kind's name in ``tidegate.jobs.registry``, e.g. "batch/job"
    namespace: str = ""  # empty for what is cluster-wide
    name: str
    uid: str = ""


class FlavorResource(NamedTuple):
    """A pair that quota counts in, e.g. ``("on-demand", "cpu")``."""

    flavor: str
    resource: str
