"""ResourceFlavor, Topology and WorkloadPriorityClass in v1beta2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tidegate.kinds.markers import (
    Int32,
    Label,
    Name,
    Rule,
    Time,
    list_of_type,
    schema_keywords,
    with_rules,
)
from tidegate.kinds.meta import ApiObject, ApiType
from tidegate.kinds.pods import Toleration

_HOST = "'kubernetes.io/hostname'"
TOLERATION = (
    Rule(
        "!has(self.operator) || self.operator in ['Equal', 'Exists']",
        "operator is Equal or Exists",
        ".operator",
    ),
    Rule(
        "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
        "operator is Exists where there is no key",
        ".operator",
    ),
    Rule(
        "!has(self.operator) || self.operator != 'Exists' || !has(self.value)",
        "value stays out where operator is Exists",
        ".value",
    ),
    Rule(
        "!has(self.effect) || self.effect in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute']",
        "effect is NoSchedule, PreferNoSchedule or NoExecute",
        ".effect",
    ),
    Rule(
        "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        "tolerationSeconds needs effect NoExecute",
        ".tolerationSeconds",
    ),
)
_LEVELS = (
    Rule("self.all(l, self.exists_one(m, m == l))", "levels[].nodeLabel is unique"),
    Rule(
        f"self.all(l, l.nodeLabel != {_HOST} || l == self[size(self) - 1])",
        "kubernetes.io/hostname is the last of levels, or none",
    ),
    Rule(
        f"self == oldSelf || (self[size(self) - 1].nodeLabel == {_HOST}"
        f" && oldSelf[size(oldSelf) - 1].nodeLabel == {_HOST})",
        "levels is immutable unless it ends in kubernetes.io/hostname before and after",
    ),
)


def _fixed_with_topology(field: str) -> Rule:
    """Return the rule that a field of a flavor stays as it is while the flavor has a topology."""
    new, old = f"self.{field}", f"oldSelf.{field}"
    return Rule(
        f"!has(oldSelf.topologyName) || (has({new}) == has({old})"
        f" && (!has({new}) || {new} == {old}))",
        f"{field} is immutable while topologyName is set",
        f".{field}",
    )


class Taint(ApiType, frozen=True, kw_only=True):
    """A taint that a flavor's nodes bear."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    time_added: Time | None = None


class ResourceFlavorSpec(ApiType, frozen=True, kw_only=True):
    """The nodes of a ResourceFlavor: their labels, taints and topology."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.topologyName) || (has(self.nodeLabels) && size(self.nodeLabels) > 0)",
            "topologyName needs at least one of nodeLabels",
            ".topologyName",
        ),
        Rule(
            "!has(oldSelf.topologyName)"
            " || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
            "topologyName is immutable once set",
            ".topologyName",
        ),
        *(_fixed_with_topology(field) for field in ("nodeLabels", "tolerations")),
    )
    node_labels: Annotated[
        dict[str, str], schema_keywords(maxProperties=8, **{"x-kubernetes-map-type": "atomic"})
    ] = {}
    node_taints: Annotated[tuple[Taint, ...], list_of_type("atomic", most=8)] = ()
    tolerations: Annotated[
        tuple[Annotated[Toleration, with_rules(*TOLERATION)], ...], list_of_type("atomic", most=8)
    ] = ()
    topology_name: Name | None = None


class ResourceFlavor(ApiObject, frozen=True, kw_only=True):
    """A kind of nodes that quota is given for."""

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class TopologyLevel(ApiType, frozen=True, kw_only=True):
    """A level of the tree of nodes, by the label that names its domains."""

    node_label: Label


class TopologySpec(ApiType, frozen=True, kw_only=True):
    """The levels, from the top."""

    levels: Annotated[
        tuple[TopologyLevel, ...], list_of_type("atomic", most=16, least=1), with_rules(*_LEVELS)
    ]


class Topology(ApiObject, frozen=True, kw_only=True):
    """The levels of a topology, such as blocks, racks and hosts."""

    spec: TopologySpec


class WorkloadPriorityClass(ApiObject, frozen=True, kw_only=True):
    """A priority for queueing and preemption that leaves pods' own priority alone."""

    value: Int32
    description: Annotated[str, schema_keywords(maxLength=2048)] = ""
