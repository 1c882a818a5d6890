"""The reports on random histories: they say what the core's own state says.

A busy cluster is decided by the core; beside each turn the reporting tables are written. At the
end they must agree with the state, and with a sum over time that is computed without SQL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, get_args

import pytest
from sqlalchemy import Engine, select, text

from store.access.engine import select_through
from store.ledger import SqlLedger
from store.reading.as_of import reports_as_of
from store.reading.entries import read_pages
from store.reporting.projection import REPORTS, TAKEN, rebuild
from store.schema import migrate
from store.statements.clock import HOUR_US
from store.views.catalog import VIEWS
from tests.parts.reports import rows
from tests.store.busy import Busy
from tests.store.conftest import Fresh
from tests.store.histories import LEASE_US, sealed
from tests.store.story import cluster_queue, minute, submitted
from tests.store.text import shown
from tidegate.cli.times import parse_utc
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry, Positions
from tidegate.contracts.facts import FactEvent, WorkloadFinished
from tidegate.core.state.state import State

SET_ASIDE = {
    "ActuationFailed",
    "BudgetReached",
    "BudgetsTaken",
    "HandoverConfirmed",
    "MoveRequested",
    "TreeReleased",
    "TreeTaken",
    "WorkloadsHandedOver",
    "OrderReissued",
    "CheckDefined",
    "ClusterQueueReleased",
    "CheckRemoved",
    "LocalQueueUsageSampled",
    "ClockSkewed",
    "ClusterQueueReadinessChanged",
    "GapObserved",
    "JobStateReported",
    "LedgerOpened",
    "LimitRangeDefined",
    "LimitRangeRemoved",
    "NamespaceDefined",
    "NamespaceRemoved",
    "ObservationRefused",
    "PodsReadyReported",
    "PreemptionAbandoned",
    "QueueElsewhere",
    "ReservationRepeated",
    "RuntimeClassDefined",
    "RuntimeClassRemoved",
    "StartOrdered",
    "StopOrdered",
    "StrayCleared",
    "StrayReported",
    "StreamReplaced",
    "SyncCompleted",
    "SyncStarted",
    "TimePassed",
    "VariantUngated",
    "WatchesExpected",
    "WorkloadExpired",
    "WorkloadMismatched",
    "WorkloadStopped",
    *("TopologyDefined", "TopologyRemoved", "NodeDefined", "NodeRemoved", "NodeFailed"),
    *("MultiKueueClusterDefined", "MultiKueueClusterRemoved", "MultiKueueConfigDefined"),
    *("MultiKueueConfigRemoved", "RemoteClusterChanged", "RemoteWorkloadReported"),
    *("RemoteWorkloadRemoved", "ClustersNominated", "ClusterChosen", "RemoteWithdrawn"),
    *("RemoteDeactivated", "NominationReported", "CopyOrdered", "CopyRemovalOrdered"),
    *("CopyReported", "CopyRemoved", "EndShown", "HomeGone"),
    *(
        "CheckDecided",
        "NodePodsReported",
        "NodePodsCleared",
        "TopologyAssigned",
        "SecondPassFailed",
    ),
}
"""Types that no report depends on; a new type must be taken or stand here."""
HOLDING = {"reserved", "admitted", "evicting"}


def written(engine: Engine, turns: Iterable[Sequence[Entry]]) -> None:
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in turns:
        ledger.append(1, entries[0].seq - 1, entries, Positions())


SEEDS = range(3)


@cache
def history(seed: int, count: int = 120) -> tuple[list[list[Entry]], State]:
    busy = Busy(seed)
    return [busy.open(), *(turn for turn in busy.turns(count) if turn)], busy.state


def tables(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    with engine.connect() as conn:
        return {
            table.name: sorted(
                tuple(f"{value:.9g}" if isinstance(value, float) else value for value in row)
                for row in conn.execute(select(table).order_by(*table.primary_key.columns))
            )
            for table in REPORTS
        }


@pytest.fixture(scope="module", params=SEEDS)
def filled(request: pytest.FixtureRequest, kept_engine: Fresh) -> Iterator[tuple[Engine, int]]:
    """A ledger that holds the history of a seed; its readers leave it as it is."""
    with kept_engine() as engine:
        written(engine, history(request.param)[0])
        yield engine, request.param


def test_the_present_is_the_drafts(filled: tuple[Engine, int]) -> None:
    engine, seed = filled
    state = history(seed)[1]
    workloads = state.workloads.items()
    charged = {
        (key, fr.flavor, fr.resource): units / (1_000 if fr.resource == "cpu" else 1)
        for key, workload in workloads
        if workload.phase in HOLDING
        for fr, units in workload.charges
        if units
    }
    admitted = rows(engine, "admitted_now")
    assert {
        (row["workload"], row["flavor"], row["resource"]): row["amount"]
        for row in admitted
        if row["amount"]
    } == charged
    assert {row["workload"]: row["phase"] for row in admitted} == {
        key: job.phase for key, job in workloads if job.phase in HOLDING
    }
    waiting = {row["workload"]: row["priority"] for row in rows(engine, "queue_now")}
    assert waiting == {
        key: workload.priority
        for key, workload in workloads
        if workload.phase in {"pending", "reserved"}
    }


def test_usage_by_the_hour_is_the_integral_over_what_was_running(
    filled: tuple[Engine, int],
) -> None:
    engine, seed = filled
    turns, _ = history(seed)
    now_us = turns[-1][-1].at_us
    with engine.connect() as conn:
        held = conn.execute(text("SELECT * FROM report_holding")).mappings().all()
    expected = defaultdict[tuple[int, str, str, str], float](float)
    for row in held:
        until_us = now_us if row["to_us"] is None else row["to_us"]
        first_us = row["from_us"] - row["from_us"] % HOUR_US
        for hour_us in range(first_us, until_us, HOUR_US):
            lasted_us = min(until_us, hour_us + HOUR_US) - max(row["from_us"], hour_us)
            unit = 1_000 if row["resource"] == "cpu" else 1
            key = (hour_us, row["cluster_queue"], row["author"], row["resource"])
            expected[key] += row["amount"] / unit * lasted_us / 1e6
    assert summed(engine) == pytest.approx(
        {key: number for key, number in expected.items() if number}
    )


def summed(engine: Engine) -> dict[tuple[int, str, str, str], float]:
    """Return the hourly usage by hour, ClusterQueue, author and resource."""
    total = defaultdict[tuple[int, str, str, str], float](float)
    for row in rows(engine, "usage_hourly"):
        key = (parse_utc(row["hour"]), row["cluster_queue"], row["author"], row["resource"])
        total[key] += row["resource_seconds"]
    return dict(total)


def test_an_hour_of_one_kind_is_one_row(filled: tuple[Engine, int]) -> None:
    engine, _ = filled
    keys = [tuple(row.values())[:-3] for row in rows(engine, "usage_hourly")]
    assert len(keys) == len(set(keys)) > 0


def test_made_again_from_the_events_the_reports_are_the_same(filled: tuple[Engine, int]) -> None:
    engine, _ = filled
    kept = tables(engine)
    migrate.rebuild_reports(engine)
    assert tables(engine) == kept
    with engine.begin() as conn:
        rebuild(
            conn, 0, ([entry] for page in read_pages(select_through(conn), 0) for entry in page)
        )
    assert tables(engine) == kept
    assert all(kept[name] for name in ("report_workload", "report_holding", "report_preemption"))


def all_reports(engine: Engine) -> dict[str, list[list[str]]]:
    return {
        name: [[shown(value) for value in row.values()] for row in rows(engine, name)]
        for name in VIEWS
    }


def test_the_past_is_what_the_present_was(engine: Engine) -> None:
    turns, _ = history(1)
    ledger, was = SqlLedger(engine), dict[int, dict[str, list[list[str]]]]()
    ledger.begin_term("a", LEASE_US)
    for place, entries in enumerate(turns):
        ledger.append(1, entries[0].seq - 1, entries, Positions())
        if place % 29 == 0:
            was[entries[-1].seq] = all_reports(engine)
    for seq, mapping in was.items():
        with reports_as_of(ledger.read(until=seq)) as then:
            assert all_reports(then) == mapping
    assert len(was) > 3


def test_a_report_makes_no_difference_to_the_history(engine: Engine) -> None:
    turns, _ = history(2)
    ledger = SqlLedger(engine, reports=False)
    ledger.begin_term("a", LEASE_US)
    for entries in turns:
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    assert not any(tables(engine).values())
    assert list(ledger.read()) == [entry for entries in turns for entry in entries]


def test_a_free_text_may_hold_anything(engine: Engine) -> None:
    strange = "a\0b'\"; -- % %s :x \N{WATER WAVE}"
    events: list[FactEvent] = [
        cluster_queue(0, "team-a", 8, strange),
        submitted(1, "a/job-one", 1, author=strange),
        WorkloadFinished(at_us=minute(2), workload="a/job-one", reason=strange, message=strange),
    ]
    written(engine, sealed(events))
    [row] = rows(engine, "waits")
    assert row["author"] == strange.replace("\0", "\ufffd")
    assert {row["author"] for row in rows(engine, "quota_history")} == {row["author"]}


def test_every_type_of_event_is_taken_or_set_aside() -> None:
    every = {
        str(kind.__struct_config__.tag).partition("/")[0]
        for kind in (*get_args(FactEvent), *get_args(DecisionEvent))
    }
    assert every == TAKEN | SET_ASIDE
    assert not TAKEN & SET_ASIDE
