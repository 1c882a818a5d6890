"""``tidegate shadow``: where Tidegate would have decided otherwise than who decided."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_record, print_records, say
from tidegate.cli.times import utc
from tidegate.replay.shadow import Comparison, compare


def _or_dash(at: str | None) -> str:
    return at or "-"


_COLUMNS = (
    Column("WORKLOAD", "workload"),
    Column("TIDEGATE", "what"),
    Column("HERE", "hereAt", show=_or_dash),
    Column("THERE", "thereAt", show=_or_dash),
    Column("WHY", "why", wide=True),
)
_SECOND_US = 1_000_000


def shadow(
    *,
    within: Annotated[
        float, typer.Option(min=0, help="Starts so many seconds apart are alike.")
    ] = 10.0,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the ledger's decisions with what another controller did meanwhile.

    The ledger is that of `tidegate up --shadow`, which decides and touches nothing. "Here" is what
    Tidegate would have done, "there" what was seen done.

    Examples:
      tidegate shadow

      tidegate shadow --within 60 -o wide

      tidegate shadow -o json | jq '.differences[] | select(.what == "starts only there")'
    """
    with open_reader(ledger) as reader:
        found = compare(reader.entries("comparing"), round(within * _SECOND_US))
    records = _records(found)
    if output in {Output.JSON, Output.YAML}:
        print_record(_whole(found, records), output, name="workloads")
        return
    print_records(records, _COLUMNS, output, name="workload", nothing="No differences.")
    say(
        f"{found.workloads} workloads: {found.alike} alike, {len(records)} differences, "
        f"{found.adopted} ran before, {found.carried_out} started by this ledger's own order"
    )


def _whole(found: Comparison, records: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "workloads": found.workloads,
        "alike": found.alike,
        "adopted": found.adopted,
        "carriedOut": found.carried_out,
        "differences": records,
    }


def _records(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "workload": one.workload,
            "what": one.what,
            "hereAt": utc(one.here_us) if one.here_us else None,
            "thereAt": utc(one.there_us) if one.there_us else None,
            "why": one.why,
        }
        for one in found.differences
    ]
