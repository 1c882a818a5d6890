"""Rows of the report ``chargeback`` in the columns of FOCUS, as far as they fit.

What FOCUS has no column for begins with ``x_``, as FOCUS asks. Left out is what a cluster does not
know: accounts, regions, contracts, commitments and invoices.

Source: FinOps Open Cost and Usage Specification 1.0, https://focus.finops.org.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

Row: TypeAlias = dict[str, str | int | float | None]
COLUMNS = (
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ChargeCategory",
    "ChargeDescription",
    "ServiceCategory",
    "ServiceName",
    "SubAccountId",
    "SkuId",
    "ConsumedQuantity",
    "ConsumedUnit",
    "PricingQuantity",
    "PricingUnit",
    "ListUnitPrice",
    "ListCost",
    "ContractedCost",
    "EffectiveCost",
    "BilledCost",
    "BillingCurrency",
    "x_Cluster",
    "x_ClusterQueue",
    "x_LocalQueue",
    "x_Author",
    "x_PriorityClass",
    "x_Quota",
    "x_PriceFrom",
    "x_PriceSeq",
)
_DIGITS = 9
USAGE = (
    *("ChargePeriodStart", "SubAccountId", "x_LocalQueue", "x_Author", "SkuId", "x_Cluster"),
    *("x_PriorityClass", "x_Quota"),
)
"""The columns that tell rows of one ClusterQueue apart."""


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The total cost of all rows of a currency."""

    currency: str
    cost: float


def focus_row(row: Mapping[str, Any], begin: str, end: str, next_day: str) -> Row:
    """Return a row of ``chargeback``; what has no price has no cost.

    ``begin`` and ``end`` are the month's, ``next_day`` the moment in which the row's day ends.
    """
    used, price, cost = (_rounded(row[name]) for name in ("unit_hours", "per_unit_hour", "cost"))
    unit = f"{row['resource']} Hours"
    day = f"{row['day']}T00:00:00Z"
    values = (
        *(begin, end, day, next_day),
        "Usage",
        f"{row['resource']} of {row['flavor']} held in {row['cluster_queue']}",
        *("Compute", "Kubernetes batch quota"),
        row["namespace"],
        f"{row['flavor']}/{row['resource']}",
        *(used, unit, used, unit),
        price,
        *(cost, cost, cost, cost),
        row["currency"],
        *(row[name] for name in ("cluster", "cluster_queue", "local_queue", "author")),
        *(row[name] for name in ("priority_class", "quota", "price_from", "price_seq")),
    )
    return dict(zip(COLUMNS, values, strict=True))


def totals(rows: Iterable[Row]) -> tuple[Total, ...]:
    """Return the total cost of rows with a price, by currency."""
    added = dict[str, float]()
    for row in rows:
        if row["BilledCost"] is not None:
            currency = str(row["BillingCurrency"])
            added[currency] = added.get(currency, 0.0) + amount_in_column(row, "BilledCost")
    return tuple(Total(currency=name, cost=_rounded(added[name])) for name in sorted(added))


def unpriced(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return what had no price on some day."""
    return tuple(sorted({str(row["SkuId"]) for row in rows if row["BilledCost"] is None}))


def usage_and_cost(rows: Sequence[Row]) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return what was used and the price of it, by the columns that tell rows apart.

    A day on which the ClusterQueue moved to another partition has a row of each.
    """
    sums = dict[tuple[str, ...], tuple[float, float]]()
    for row in rows:
        key = tuple(str(row[name]) for name in USAGE)
        before, _ = sums.get(key, (0.0, 0.0))
        sums[key] = (
            before + amount_in_column(row, "ConsumedQuantity"),
            amount_in_column(row, "ListUnitPrice"),
        )
    return sums


def amount_in_column(row: Row, column: str) -> float:
    """Return an amount; 0 where a file has a text or nothing in its place."""
    text = row[column]
    return text if isinstance(text, int | float) else 0.0


def _rounded(value: float | None) -> Any:  # noqa: ANN401 - a number, or none
    # Two databases may differ in a sum's last bits, and a statement must not.
    return None if value is None else float(f"{value:.{_DIGITS}g}")
