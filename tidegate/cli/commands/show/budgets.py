"""``tidegate show budgets``: what is spent of each budget, and when it will be at this rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Annotated, Any

import typer

from store.reading.reports import TimeRange
from tidegate.cli.ledger.narrowing import Span, time_filter
from tidegate.cli.ledger.partitions import PartitionOption, merge_rows
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.times import parse_utc, utc
from tidegate.core.state.budgets import COHORT, Meter, advance_meter, budget_owners, is_spent
from tidegate.core.state.state import State
from tidegate.model.calendar import HOUR_US
from tidegate.model.quantity import format_quantity

_PERCENT, _HOUR_S = 100, 3_600


def _percent_text(value: int | None) -> str:
    return "-" if value is None else f"{value} %"


_COLUMNS = (
    Column("OWNER", "owner"),
    Column("RESOURCE", "resource"),
    Column("PERIOD", "period"),
    Column("BUDGET", "budgetHours", right=True),
    Column("SPENT", "spentHours", right=True),
    Column("OF IT", "percent", right=True, show=_percent_text),
    Column("USAGE", "usage", right=True),
    Column("SPENT AT", "spentAt"),
    Column("ENDS", "endsAt"),
    Column("KIND", "kind"),
    Column("COUNTED SINCE", "since", wide=True),
    Column("AT ITS END, AS NOW", "atEndAsNow", right=True, wide=True),
    Column("AT ITS END, AS SO FAR", "atEndAsSoFar", right=True, wide=True),
)
_DAYS = (
    Column("DAY", "day"),
    Column("OWNER", "owner"),
    Column("RESOURCE", "resource"),
    Column("USED", "usedHours", right=True),
    Column("SO FAR", "spentHours", right=True),
    Column("LEFT", "leftHours", right=True),
)


def budgets(  # noqa: PLR0913 - each is an option
    owner: Annotated[
        str, typer.Argument(help="Only budgets of this ClusterQueue or Cohort.", metavar="[OWNER]")
    ] = "",
    *,
    by_day: Annotated[
        bool,
        typer.Option(
            "--by-day", help="Print what was used on each day of the period, and what is left."
        ),
    ] = False,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the spent part of each budget, and when it will be spent at the current usage.

    Amounts are core hours, byte hours or device hours. With -o wide also forecasts for the end of
    the period: with the current usage, and with the average usage so far.

    Examples:
      tidegate show budgets

      tidegate show budgets team-a -o wide

      tidegate show budgets team-a --by-day
    """
    with open_reader(ledger, as_of, partition, reports=by_day) as reader:
        rows_of = partial(_budget_rows, owner=owner, past=bool(as_of), by_day=by_day)
        records = merge_rows(reader, rows_of, itemgetter("owner"))
    nothing = f"{owner or 'No ClusterQueue or Cohort'} has {'no' if owner else 'a'} budget: {_SET}"
    columns, name = (_DAYS, "day") if by_day else (_COLUMNS, "owner")
    print_records(records, columns, output, name=name, nothing=nothing)


def _budget_rows(
    reader: Reader, owner: str, *, past: bool, by_day: bool
) -> Iterator[dict[str, Any]]:
    """Yield what is spent of a partition's budgets, or on each day of the period."""
    state = reader.state()
    now_us = state.now_us + lag_us(reader) if past else max(state.now_us, reader.now_us())
    for meter in budget_meters(state, now_us):
        if owner in {"", meter[0].partition("/")[2]}:
            if by_day:
                yield from _daily_usage(reader, state, *meter)
            else:
                yield budget_record(*meter, now_us)


_SET = "set the annotation tidegate.dev/budget."


def budget_meters(state: State, now_us: int) -> Iterator[tuple[str, Meter]]:
    """Yield each budget's owner, "ClusterQueue/a" or "Cohort/a", and what is counted of it."""
    for owner in sorted(state.budgets):
        for resource in sorted(state.budgets[owner]):
            yield owner, advance_meter(state.budgets[owner][resource], now_us)


def budget_record(owner: str, meter: Meter, now_us: int) -> dict[str, Any]:
    """Return a budget for programs."""
    budget = meter.budget
    left_us, passed_us = meter.until_us - now_us, now_us - meter.since_us
    so_far = meter.hours + meter.hours * left_us // passed_us if passed_us > 0 else None
    as_now = meter.hours + meter.rate * left_us // HOUR_US

    def amount(units: int | None) -> str | None:
        return None if units is None else format_quantity(budget.resource, units)

    return {
        "owner": owner,
        "resource": budget.resource,
        "period": budget.period,
        "budgetHours": amount(budget.hours),
        "spentHours": amount(meter.hours),
        "percent": meter.hours * _PERCENT // budget.hours if budget.hours else None,
        "usage": amount(meter.rate),
        "spentAt": _exhausted_at(meter),
        "endsAt": utc(meter.until_us),
        "kind": "hard, spent" if is_spent(meter) else "hard" if budget.hard else "soft",
        "since": utc(meter.since_us),
        "atEndAsNow": amount(as_now),
        "atEndAsSoFar": amount(so_far),
    }


def _exhausted_at(meter: Meter) -> str | None:
    """Return when all of a budget is spent if as much is held as now; None: not in this period."""
    remaining = (meter.budget.hours - meter.hours) * HOUR_US - meter.rest
    if remaining <= 0:
        return "spent"
    if not meter.rate:
        return None
    at_us = meter.at_us - (-remaining // meter.rate)
    return utc(at_us) if at_us < meter.until_us else None


def _daily_usage(
    reader: Reader, state: State, owner: str, meter: Meter
) -> Iterator[dict[str, Any]]:
    """Yield a row for each day of a period so far: from the report ``usage_hourly``.

    What was used before the budget was set is not its; what is held since the newest event counts.
    """
    kind, _, name = owner.partition("/")
    resource = meter.budget.resource

    def counts(row: Mapping[str, Any]) -> bool:
        queue = row["cluster_queue"]
        of_owner = owner in budget_owners(state.objects, queue) if kind == COHORT else queue == name
        return of_owner and row["resource"] == resource

    begin_us = meter.since_us // HOUR_US * HOUR_US
    days = defaultdict[str, float](float)
    for row in filter(
        counts, reader.report("usage_hourly", within=_time_filter(begin_us, meter.at_us + 1))
    ):
        days[row["hour"].partition("T")[0]] += row["resource_seconds"] / _HOUR_S
    if begin_us < meter.since_us and days:
        reserved = filter(
            counts, reader.report("holdings", within=_time_filter(begin_us, meter.since_us))
        )
        days[min(days)] -= sum(_hours_within(row, begin_us, meter.since_us) for row in reserved)
    if (lasts_us := meter.at_us - max(state.now_us, meter.since_us)) > 0 and meter.rate:
        now_held = _display_units(resource, meter.rate)
        days[utc(meter.at_us).partition("T")[0]] += now_held * lasts_us / HOUR_US
    remaining, so_far = _display_units(resource, meter.budget.hours), 0.0
    for day in sorted(days):
        so_far += days[day]
        yield {
            "day": day,
            "owner": owner,
            "resource": resource,
            "usedHours": round(days[day], 3),
            "spentHours": round(so_far, 3),
            "leftHours": round(remaining - so_far, 3),
        }


def _time_filter(begin_us: int, end_us: int) -> TimeRange | None:
    return time_filter(Span(begin_us, end_us))


def _hours_within(row: Mapping[str, Any], begin_us: int, end_us: int) -> float:
    """Return the quota used within a time, in unit-hours; times have whole seconds."""
    from_us = max(begin_us, parse_utc(row["from_at"]))
    to_us = end_us if row["to_at"] is None else min(end_us, parse_utc(row["to_at"]))
    return float(row["amount"]) * max(0, to_us - from_us) / HOUR_US


def _display_units(resource: str, units: int) -> float:
    return units / 1_000 if resource == "cpu" else units
