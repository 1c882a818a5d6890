"""Quota as a command line says it: ``on-demand:cpu=8;memory=32Gi,spot:cpu=16;memory=64Gi``."""

from __future__ import annotations

from typing import Any, TypeAlias

import typer

from tidegate.errors import QuantityError
from tidegate.model.quantity import parse

Quotas: TypeAlias = dict[str, dict[str, str]]
"""By flavor, then by resource, both in the order given."""

_FORM = "FLAVOR:RESOURCE=QUANTITY;…,FLAVOR:…"


def read_quotas(text: str, option: str) -> Quotas:
    """Read quota of flavors.

    Raises:
        BadParameter: it is not of that form; the message says where.
    """
    found = Quotas()
    for part in filter(None, text.split(",")):
        flavor, colon, rest = part.partition(":")
        if not (flavor and colon and rest):
            raise typer.BadParameter(f"{option} {part!r} is not of the form {_FORM}.")
        if flavor in found:
            raise typer.BadParameter(f"{option} names flavor {flavor} twice.")
        found[flavor] = dict(_amount(one, option) for one in filter(None, rest.split(";")))
    return found


def resource_groups(nominal: Quotas, borrowing: Quotas, lending: Quotas) -> list[dict[str, Any]]:
    """Return a spec's resourceGroups: flavors that cover the same resources make one group.

    Raises:
        BadParameter: a limit is given for what has no quota.
    """
    for option, limits in (("--borrowing-limit", borrowing), ("--lending-limit", lending)):
        for flavor, resources in limits.items():
            for resource in resources:
                if resource not in nominal.get(flavor, {}):
                    raise typer.BadParameter(
                        f"{option} {flavor}:{resource}: --nominal-quota gives none of it."
                    )
    groups = dict[tuple[str, ...], list[dict[str, Any]]]()
    for flavor, resources in nominal.items():
        first = next((one for one in groups if set(one) == set(resources)), tuple(resources))
        rows = [
            {"name": resource, "nominalQuota": resources[resource]}
            | _limit("borrowingLimit", borrowing, flavor, resource)
            | _limit("lendingLimit", lending, flavor, resource)
            for resource in first
        ]
        groups.setdefault(first, []).append({"name": flavor, "resources": rows})
    return [{"coveredResources": list(one), "flavors": rows} for one, rows in groups.items()]


def read_pairs(text: str, option: str) -> dict[str, str]:
    """Read ``key=value,key=value``.

    Raises:
        BadParameter: it is not of that form.
    """
    found = dict[str, str]()
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{option} {part!r} is not of the form KEY=VALUE.")
        found[key] = value
    return found


def _limit(field: str, limits: Quotas, flavor: str, resource: str) -> dict[str, str]:
    given = limits.get(flavor, {}).get(resource)
    return {} if given is None else {field: given}


def _amount(text: str, option: str) -> tuple[str, str]:
    resource, equals, quantity = text.partition("=")
    if not (resource and equals):
        raise typer.BadParameter(f"{option} {text!r} is not of the form RESOURCE=QUANTITY.")
    try:
        parse(quantity)
    except QuantityError as error:
        raise typer.BadParameter(f"{option} {text!r}: {error}") from None
    return resource, quantity
