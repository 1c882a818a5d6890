"""Annotations that name clusters: where a ResourceFlavor exists, and where a LocalQueue's jobs run.

``tidegate.dev/clusters: east,west=Hold``: it exists in both, and gets nothing new in west.
"""

from __future__ import annotations

import re
from typing import cast, get_args

from tidegate.contracts.messages.subjects import CLUSTER_NAME
from tidegate.errors import UndecodableError
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import CLUSTERS, PLACEMENT
from tidegate.model.clusters import MEMBERS_MAX
from tidegate.model.quota import Placement, StopPolicy

_POLICIES = get_args(StopPolicy)
STAY = "stay"
_PLACEMENTS = get_args(Placement)


def clusters_of(metadata: ObjectMeta) -> tuple[tuple[str, ...], dict[str, StopPolicy]]:
    """Return the clusters in which a flavor exists, and which of these are stopped; none: the hub.

    Raises:
        UndecodableError: there is no such cluster name or stop policy, or one stands there twice.
    """
    text = metadata.annotations.get(CLUSTERS)
    if text is None:
        return (), {}
    path = f"metadata.annotations[{CLUSTERS}]"
    clusters: dict[str, StopPolicy] = {}
    for item in text.split(","):
        name, policy = _one(path, item)
        if name in clusters:
            raise UndecodableError(f"{path}: {name} stands there twice")
        clusters[name] = policy
    if len(clusters) > MEMBERS_MAX:
        raise UndecodableError(f"{path} names more than {MEMBERS_MAX} clusters")
    stops: dict[str, StopPolicy] = {}
    for name in sorted(clusters):
        if clusters[name] != "None":
            stops[name] = clusters[name]
    return tuple(sorted(clusters)), stops


def _one(path: str, text: str) -> tuple[str, StopPolicy]:
    name, mark, policy = (part.strip() for part in text.partition("="))
    if not re.match(CLUSTER_NAME, name):
        raise UndecodableError(f"{path}: {name!r} is no cluster's name")
    if mark and policy not in _POLICIES:
        raise UndecodableError(f"{path}: {policy!r} is none of {', '.join(_POLICIES)}")
    return name, cast("StopPolicy", policy) if mark else "None"


def clusters_text(clusters: tuple[str, ...], stops: dict[str, StopPolicy]) -> str:
    """Return the annotation that says this; the inverse of ``clusters_of``."""
    policies = ((name, stops.get(name, "None")) for name in clusters)
    return ",".join(name if policy == "None" else f"{name}={policy}" for name, policy in policies)


def placement_of(metadata: ObjectMeta) -> Placement:
    """Return where the jobs of a LocalQueue run; see ``LocalQueueSpec.placement``.

    Raises:
        UndecodableError: it is no placement.
    """
    placement = metadata.annotations.get(PLACEMENT, STAY)
    if placement not in _PLACEMENTS:
        raise UndecodableError(
            f"metadata.annotations[{PLACEMENT}]: {placement!r} is none of {', '.join(_PLACEMENTS)}"
        )
    return cast("Placement", placement)
