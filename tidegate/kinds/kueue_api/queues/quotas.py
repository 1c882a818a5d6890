"""Resource groups of ClusterQueues and Cohorts, and how much of them is in use."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from tidegate.kinds.markers import (
    Int64,
    Name,
    Quantity,
    Rule,
    list_of_type,
    map_list,
    required_for_writers,
    with_rules,
)
from tidegate.kinds.meta import ApiType

_EACH = "self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.{}))))"


def limits_need(others: str, *fields: str) -> tuple[Rule, ...]:
    """Return the rules that quota has limits only with one of these fields set."""
    related = " || ".join(f"has(self.{field})" for field in fields)
    return tuple(
        Rule(
            f"{related} || !has(self.resourceGroups) || {_EACH.format(limit)}",
            f"resourceGroups[].flavors[].resources[].{limit} needs {others}",
        )
        for limit in ("borrowingLimit", "lendingLimit")
    )


class ResourceQuota(ApiType, frozen=True, kw_only=True):
    """Quota of one flavor-resource, as written."""

    name: str
    nominal_quota: Quantity
    borrowing_limit: Quantity | None = None  # None: no limit within the cohort
    lending_limit: Quantity | None = None  # None: all of it may be lent


class FlavorQuotas(ApiType, frozen=True, kw_only=True):
    """One flavor of a resource group."""

    name: Name
    resources: Annotated[
        tuple[ResourceQuota, ...], map_list("name", most=64, least=1), required_for_writers()
    ] = ()


class ResourceGroup(ApiType, frozen=True, kw_only=True):
    """Resources that always come from one flavor together; flavors in order of preference."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
            "flavors[].resources has one entry for each of coveredResources, in the same order",
        ),
    )
    covered_resources: Annotated[
        tuple[str, ...], list_of_type("atomic", most=64, least=1), required_for_writers()
    ] = ()
    flavors: Annotated[
        tuple[FlavorQuotas, ...], map_list("name", most=64, least=1), required_for_writers()
    ] = ()


ResourceGroups: TypeAlias = Annotated[tuple[ResourceGroup, ...], list_of_type("atomic", most=16)]


class FairSharing(ApiType, frozen=True, kw_only=True):
    """The weight of a queue or a cohort among its siblings."""

    weight: Annotated[
        Quantity,
        with_rules(
            Rule(
                "quantity(string(self)).compareTo(quantity('0')) == 0"
                " || quantity(string(self)).isGreaterThan(quantity('1n'))",
                "weight is 0, or more than 1e-9",
            )
        ),
    ] = 1


class FairSharingStatus(ApiType, frozen=True, kw_only=True):
    """The share that a ClusterQueue or a Cohort has, per mille, weighted."""

    weighted_share: Int64


class ResourceUsage(ApiType, frozen=True, kw_only=True):
    """Usage of one resource of a flavor."""

    name: str
    total: Quantity = "0"
    borrowed: Quantity = "0"


class FlavorUsage(ApiType, frozen=True, kw_only=True):
    """A ClusterQueue's usage of one flavor."""

    name: Name
    resources: Annotated[tuple[ResourceUsage, ...], map_list("name", most=64)]


class LocalResourceUsage(ApiType, frozen=True, kw_only=True):
    """A LocalQueue's usage of one resource of a flavor."""

    name: str
    total: Quantity = "0"


class LocalFlavorUsage(ApiType, frozen=True, kw_only=True):
    """A LocalQueue's usage of one flavor."""

    name: Name
    resources: Annotated[tuple[LocalResourceUsage, ...], map_list("name", most=64)]


Usages: TypeAlias = Annotated[tuple[FlavorUsage, ...], map_list("name", most=64)]
LocalUsages: TypeAlias = Annotated[tuple[LocalFlavorUsage, ...], map_list("name", most=64)]
