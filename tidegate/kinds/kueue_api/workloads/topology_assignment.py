"""The topology assignment of a podset in a Workload's status in v1beta2."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from tidegate.kinds.markers import Rule, list_of_type, schema_keywords
from tidegate.kinds.meta import ApiType

Positive: TypeAlias = Annotated[int, schema_keywords(format="int32", minimum=1)]
_EITHER = Rule(
    "has(self.universal) != has(self.individual)", "there is either universal or individual"
)


class IndividualValues(ApiType, frozen=True, kw_only=True):
    """A value for each domain: prefix, root and suffix joined."""

    prefix: Annotated[str, schema_keywords(maxLength=63)] | None = None
    suffix: Annotated[str, schema_keywords(maxLength=63)] | None = None
    roots: Annotated[tuple[str, ...], list_of_type("atomic", most=100_000, least=1)] = ()


class LevelValues(ApiType, frozen=True, kw_only=True):
    """The values of one level over the domains of a slice."""

    rules: ClassVar[tuple[Rule, ...]] = (_EITHER,)
    universal: Annotated[str, schema_keywords(maxLength=63)] | None = None
    individual: IndividualValues | None = None


class PodCounts(ApiType, frozen=True, kw_only=True):
    """The number of pods in each domain of a slice."""

    rules: ClassVar[tuple[Rule, ...]] = (_EITHER,)
    universal: Positive | None = None
    individual: Annotated[tuple[Positive, ...], list_of_type("atomic", most=100_000)] = ()


class TopologySlice(ApiType, frozen=True, kw_only=True):
    """Some domains of an assignment."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.valuesPerLevel.all(v, !has(v.individual)"
            " || (has(v.individual.roots) && size(v.individual.roots) == self.domainCount))",
            "valuesPerLevel[].individual.roots has one entry for each of domainCount",
            ".valuesPerLevel",
        ),
        Rule(
            "!has(self.podCounts.individual)"
            " || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual has one entry for each of domainCount",
            ".podCounts",
        ),
    )
    domain_count: Positive
    values_per_level: Annotated[tuple[LevelValues, ...], list_of_type("atomic", most=16, least=1)]
    pod_counts: PodCounts


class TopologyAssignment(ApiType, frozen=True, kw_only=True):
    """The domains of the topology that a podset's pods are assigned to."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.slices) || self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "slices[].valuesPerLevel has one entry for each of levels",
            ".slices",
        ),
    )
    levels: Annotated[tuple[str, ...], list_of_type("atomic", most=16, least=1)]
    slices: Annotated[tuple[TopologySlice, ...], list_of_type("atomic", most=1000)] = ()
