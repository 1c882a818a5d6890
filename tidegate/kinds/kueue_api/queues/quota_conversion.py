"""Quotas and weights of Kueue's objects to what the core computes with.

An amount that cannot be read is an ``UndecodableError`` that names the field.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from tidegate.errors import QuantityError, UndecodableError
from tidegate.kinds.kueue_api.queues.quotas import (
    FairSharing,
    FlavorQuotas,
    ResourceGroup,
    ResourceQuota,
)
from tidegate.kinds.podsets import written
from tidegate.model import quota
from tidegate.model.quantity import amount, parse

T = TypeVar("T")


def groups(resource_groups: tuple[ResourceGroup, ...]) -> tuple[quota.ResourceGroup, ...]:
    """Return resource groups with amounts in base units.

    Raises:
        UndecodableError: an amount cannot be read, or is negative.
    """
    return tuple(
        quota.ResourceGroup(
            resources=group.covered_resources or _offered(group),
            flavors=tuple(
                _flavor(f"spec.resourceGroups[{i}].flavors[{j}]", flavor)
                for j, flavor in enumerate(group.flavors)
            ),
        )
        for i, group in enumerate(resource_groups)
    )


def _offered(group: ResourceGroup) -> tuple[str, ...]:
    return tuple(resource.name for flavor in group.flavors[:1] for resource in flavor.resources)


def _flavor(path: str, flavor: FlavorQuotas) -> quota.FlavorQuotas:
    return quota.FlavorQuotas(
        flavor=flavor.name,
        quotas={
            resource.name: _quota(f"{path}.resources[{i}]", resource)
            for i, resource in enumerate(flavor.resources)
        },
    )


def _quota(path: str, resource: ResourceQuota) -> quota.Quota:
    def read(field: str, value: str | float) -> int:
        units = located(f"{path}.{field}", lambda: amount(resource.name, written(value)))
        if units < 0:
            raise UndecodableError(f"{path}.{field}: {value} is negative.")
        return units

    borrowing, lending = resource.borrowing_limit, resource.lending_limit
    return quota.Quota(
        nominal=read("nominalQuota", resource.nominal_quota),
        borrowing_limit=None if borrowing is None else read("borrowingLimit", borrowing),
        lending_limit=None if lending is None else read("lendingLimit", lending),
    )


def weight(fair_sharing: FairSharing | None) -> int:
    """Return a weight in parts of ``quota.WEIGHT_ONE``, rounded up.

    Raises:
        UndecodableError: it cannot be read, or is negative.
    """
    if fair_sharing is None:
        return quota.WEIGHT_ONE
    path = "spec.fairSharing.weight"
    share: Fraction = located(path, lambda: parse(written(fair_sharing.weight))) * quota.WEIGHT_ONE
    if share < 0:
        raise UndecodableError(f"{path}: {fair_sharing.weight} is negative.")
    return -(-share.numerator // share.denominator)


def located(path: str, read: Callable[[], T]) -> T:
    """Read a value; an error names the path of its field.

    Raises:
        UndecodableError: it cannot be read.
    """
    try:
        return read()
    except (QuantityError, UndecodableError) as error:
        raise UndecodableError(f"{path}: {error}") from error
