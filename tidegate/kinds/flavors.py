"""ResourceFlavor, Topology and WorkloadPriorityClass in v1beta2."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tidegate.kinds.marks import Int32, Name, listed, said
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Toleration


class Taint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A taint that a flavor's nodes bear."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    time_added: str | None = None


class ResourceFlavorSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """Which nodes a flavor stands for."""

    node_labels: Annotated[
        dict[str, str], said(maxProperties=8, **{"x-kubernetes-map-type": "atomic"})
    ] = {}
    node_taints: Annotated[tuple[Taint, ...], listed("atomic", most=8)] = ()
    tolerations: Annotated[tuple[Toleration, ...], listed("atomic", most=8)] = ()
    topology_name: Name | None = None


class ResourceFlavor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A kind of nodes that quota is given for."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A level of the tree of nodes, by the label that names its domains."""

    node_label: Annotated[str, said(minLength=1, maxLength=316)]


class TopologySpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The levels, from the top."""

    levels: Annotated[tuple[TopologyLevel, ...], listed("atomic", most=16, least=1)]


class Topology(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How nodes lie together: blocks, racks, hosts."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: TopologySpec


class WorkloadPriorityClass(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """A priority for queueing and preemption that leaves pods' own priority alone."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    value: Int32
    description: Annotated[str, said(maxLength=2048)] = ""
