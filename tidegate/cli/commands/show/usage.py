"""``tidegate show usage``: the quota of each ClusterQueue, and what becomes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated, Any, TypeAlias

import typer

from tidegate.cli.ledger.name_lookup import require_known_queue
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.model.quantity import UNLIMITED, format_quantity

Row: TypeAlias = dict[str, Any]
_QuotaKey: TypeAlias = tuple[str, str, str]
"""ClusterQueue, flavor and resource."""


def _names_text(names: list[str]) -> str:
    return ", ".join(names) or "-"


_COLUMNS = (
    Column("QUEUE", "clusterQueue"),
    Column("COHORT", "cohort", wide=True),
    Column("FLAVOR", "flavor"),
    Column("RESOURCE", "resource"),
    Column("NOMINAL", "nominal", right=True),
    Column("USED", "used", right=True),
    Column("BORROWED", "borrowed", right=True),
    Column("LENT", "lent", right=True),
    Column("BORROW LIMIT", "borrowingLimit", right=True, wide=True),
    Column("LEND LIMIT", "lendingLimit", right=True, wide=True),
    Column("WORKLOADS", "workloads", right=True, wide=True),
    Column("USED BY", "usedBy", wide=True, show=_names_text),
    Column("QUOTA BY", "quotaBy", wide=True),
)


def usage(
    queue: Annotated[str, typer.Argument(help="Only this ClusterQueue.")] = "",
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show nominal, used, borrowed and lent quota of each ClusterQueue, flavor and resource.

    With -o wide or json also the workloads that use it, and the author of the quota.

    Examples:
      tidegate show usage

      tidegate show usage team-a -o wide

      tidegate show usage -o json | jq '.[] | select(.borrowed != "0")'
    """
    with open_reader(ledger, as_of, partition) as reader:
        require_known_queue(reader, queue)
        records = [
            record for record in usage_records(reader) if queue in {"", record["clusterQueue"]}
        ]
    print_records(
        records, _COLUMNS, output, name="clusterQueue", nothing="No ClusterQueue has quota."
    )


def usage_records(reader: Reader) -> list[dict[str, Any]]:
    """Return each ClusterQueue's quota of each flavor and resource, and its usage."""
    rows = reader.report("quota_now")
    people = _QuotaUsers(reader.report("admitted_now"), reader.report("quota_history"))
    places = map(quota_key, rows)
    return [
        usage_record(row, people.users(place), people.setter(place))
        for row, place in zip(rows, places, strict=True)
    ]


class _QuotaUsers:
    """Users of each quota by the authors of jobs, the largest first, and the user who set it."""

    def __init__(self, admitted: Iterable[Row], quotas: Iterable[Row]) -> None:
        self._users = defaultdict[_QuotaKey, Counter[str]](Counter)
        for row in admitted:
            place = row["cluster_queue"], row["flavor"], row["resource"]
            if row["author"]:
                self._users[place][row["author"]] += row["amount"]
        self._setters = {
            (row["owner"], row["flavor"], row["resource"]): row["author"]
            for row in quotas
            if row["kind"] == "ClusterQueue" and row["to_seq"] is None
        }

    def users(self, place: _QuotaKey) -> list[str]:
        ranked = sorted(self._users[place].items(), key=lambda pair: (-pair[1], pair[0]))
        return [name for name, _ in ranked]

    def setter(self, place: _QuotaKey) -> str:
        return str(self._setters.get(place, ""))


def quota_key(row: Row) -> tuple[str, str, str]:
    """Return the ClusterQueue, flavor and resource that a report's row is of."""
    return row["cluster_queue"], row["flavor"], row["resource"]


def usage_record(row: Row, users: list[str], setter: str) -> dict[str, Any]:
    """Return the usage of a quota, for programs: a row of ``quota_now``, its users and setter."""

    def amount(name: str) -> str | None:
        return None if row[name] is None else _quantity(row["resource"], row[name])

    return {
        "clusterQueue": row["cluster_queue"],
        "cohort": row["cohort"],
        "flavor": row["flavor"],
        "resource": row["resource"],
        "nominal": amount("nominal"),
        "used": amount("used"),
        "borrowed": amount("borrowed"),
        "lent": amount("lent"),
        "borrowingLimit": amount("borrowing_limit"),
        "lendingLimit": amount("lending_limit"),
        "workloads": row["workloads"],
        "usedBy": users,
        "quotaBy": setter,
    }


def _quantity(resource: str, value: float) -> str:
    """Return an amount of a report as Kubernetes writes it."""
    units = round(value * 1_000) if resource == "cpu" else round(value)
    return "unlimited" if units >= UNLIMITED else format_quantity(resource, units)
