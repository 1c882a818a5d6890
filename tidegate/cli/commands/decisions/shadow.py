"""``tidegate shadow``: where Tidegate would have decided otherwise than the active controller."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.output import (
    Column,
    Output,
    OutputOption,
    print_message,
    print_record,
    print_records,
)
from tidegate.cli.times import finite, utc
from tidegate.replay.shadow import Comparison, compare


def _or_dash(at: str | None) -> str:
    return at or "-"


_COLUMNS = (
    Column("WORKLOAD", "workload"),
    Column("TIDEGATE", "difference"),
    Column("HERE", "hereAt", show=_or_dash),
    Column("THERE", "thereAt", show=_or_dash),
    Column("WHY", "why", wide=True),
)
_SECOND_US = 1_000_000


def shadow(
    *,
    within: Annotated[
        float,
        typer.Option(
            min=0, callback=finite, help="Starts at most this many seconds apart count as equal."
        ),
    ] = 10.0,
    partition: OnePartitionOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the ledger's decisions with those of another controller.

    The ledger is that of `tidegate up --shadow`, which decides without changing any object. "Here"
    is Tidegate's decision, "there" what happened in the cluster.

    Examples:
      tidegate shadow

      tidegate shadow --within 60 -o wide

      tidegate shadow -o json | jq '.differences[] | select(.difference == "starts only there")'
    """
    with open_reader(ledger, partition=partition, reports=False) as every:
        reader = single_partition(every, "shadow")
        comparison = compare(reader.entries("comparing"), round(within * _SECOND_US))
    records = _difference_records(comparison)
    if output in {Output.JSON, Output.YAML}:
        print_record(_comparison_record(comparison, records), output, name="workloads")
        return
    print_records(records, _COLUMNS, output, name="workload", nothing="No differences.")
    print_message(
        f"{comparison.workloads} workloads: {comparison.alike} alike, {len(records)} differences, "
        f"{comparison.adopted} ran before, {comparison.carried_out} started by "
        "this ledger's own order"
    )


def _comparison_record(comparison: Comparison, records: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "workloads": comparison.workloads,
        "alike": comparison.alike,
        "adopted": comparison.adopted,
        "carriedOut": comparison.carried_out,
        "differences": records,
    }


def _difference_records(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "workload": difference.workload,
            "difference": difference.difference,
            "hereAt": utc(difference.here_us) if difference.here_us else None,
            "thereAt": utc(difference.there_us) if difference.there_us else None,
            "why": difference.why,
        }
        for difference in comparison.differences
    ]
