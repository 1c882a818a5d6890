"""Borrowed, lent and idle by the hour, recomputed from the raw events by code of the test's own.

The test walks the events from change to change with plain numbers; it knows no reporting table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest
from sqlalchemy import Engine, select

from store.ledger import SqlLedger
from store.reporting import projection
from store.reporting.tables import quota_hour, quota_level, quota_position
from tests.parts.reports import rows
from tests.store.histories import AT, LEASE_US, sealed
from tidegate.contracts.decisions import QuotaReleased, QuotaReserved
from tidegate.contracts.facts import ClusterQueueDefined, FactEvent, WorkloadSubmitted
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, FlavorQuotas, Quota, ResourceGroup

START_US, MINUTE_US, HOUR_US = 1_772_348_400_000_000, 60_000_000, 3_600_000_000
QUEUES, HOURS = ("a", "b", "c"), 6
Event = FactEvent | QuotaReserved | QuotaReleased
Sums = dict[tuple[int, str], dict[str, float]]


def define(at_us: int, name: str, cores: int, cohort: str = "all") -> ClusterQueueDefined:
    flavor = FlavorQuotas(flavor="default", quotas={"cpu": Quota(nominal=cores * 1_000)})
    group = ResourceGroup(resources=("cpu",), flavors=(flavor,))
    spec = ClusterQueueSpec(cohort=cohort, groups=(group,))
    return ClusterQueueDefined(at_us=at_us, name=name, spec=spec)


def submit(number: int) -> WorkloadSubmitted:
    job = ObjectRef(kind="batch/job", namespace="n", name=f"j{number}", uid="u")
    return WorkloadSubmitted(
        at_us=START_US,
        workload=f"n/j{number}",
        uid=f"u{number}",
        job=job,
        queue="main",
        created_us=START_US,
        podsets=(),
    )


def reserve(at_us: int, number: int, queue: str, cores: int) -> QuotaReserved:
    usage, flavors = {"cpu": cores * 1_000}, {"cpu": "default"}
    given = PodSetAssignment(name="main", count=1, flavors=flavors, usage=usage)
    name, uid = f"n/j{number}", f"u{number}"
    return QuotaReserved(
        at_us=at_us, workload=name, uid=uid, cluster_queue=queue, assignment=(given,)
    )


def release(at_us: int, number: int, queue: str) -> QuotaReleased:
    name, uid = f"n/j{number}", f"u{number}"
    return QuotaReleased(at_us=at_us, workload=name, uid=uid, cluster_queue=queue)


def story(seed: int) -> list[Event]:
    """Jobs that come and go, quota that changes, and two hours in which nothing happens."""
    random = Random(seed)
    later = list[Event]()
    for number in range(12):
        queue, cores = random.choice(QUEUES), random.randrange(1, 9)
        begun_us = START_US + random.randrange(1, 4 * 60) * MINUTE_US
        later.append(reserve(begun_us, number, queue, cores))
        ended_us = begun_us + random.randrange(1, 90) * MINUTE_US
        if ended_us < START_US + 4 * HOUR_US:
            later.append(release(ended_us, number, queue))
    later += [define(START_US + 100 * MINUTE_US, "b", random.randrange(1, 9))]
    later += [define(START_US + HOURS * HOUR_US, "late", 1, cohort="")]
    begun: list[Event] = [define(START_US, name, 4) for name in QUEUES]
    return [*begun, *map(submit, range(12)), *sorted(later, key=lambda event: event.at_us)]


def recomputed(events: list[Event]) -> Sums:
    """Integrate from change to change, each piece cut at the full hours."""
    sums: Sums = defaultdict(lambda: defaultdict(float))
    nominal, held = dict[str, int](), dict[str, tuple[str, int]]()
    for event, after in pairwise([*events, events[-1]]):
        _apply(event, nominal, held)
        for hour_us, lasted_s in _pieces(event.at_us, after.at_us):
            for queue, cores in nominal.items():
                used = sum(units for where, units in held.values() if where == queue)
                line = sums[hour_us, queue]
                line["nominal"] += cores * lasted_s
                line["used"] += used * lasted_s
                line["borrowed"] += max(0, used - cores) * lasted_s
                line["unused"] += max(0, cores - used) * lasted_s
    return sums


def _apply(event: Event, nominal: dict[str, int], held: dict[str, tuple[str, int]]) -> None:
    match event:
        case ClusterQueueDefined():
            quota = event.spec.groups[0].flavors[0].quotas["cpu"]
            nominal[event.name] = quota.nominal // 1_000
        case QuotaReserved():
            cores = event.assignment[0].usage["cpu"] // 1_000
            held[event.workload] = (event.cluster_queue, cores)
        case QuotaReleased():
            held.pop(event.workload)
        case _:
            pass


def _pieces(from_us: int, to_us: int) -> Iterator[tuple[int, float]]:
    while from_us < to_us:
        hour_us = from_us - from_us % HOUR_US
        until_us = min(to_us, hour_us + HOUR_US)
        yield (hour_us - START_US) // HOUR_US, (until_us - from_us) / 1e6
        from_us = until_us


@pytest.mark.parametrize(("seed", "part"), [*((seed, 2_048) for seed in range(4)), (1, 1), (2, 5)])
def test_what_an_hour_comes_to_is_the_integral_of_its_moments(
    engine: Engine, seed: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "PART_EVENTS", part)
    events = story(seed)
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in sealed(*([event] for event in events)):
        ledger.append(1, entries[0].seq - 1, entries, AT)
    expected, lent = recomputed(events), defaultdict[int, float](float)
    first = sorted({row["hour"] for row in rows(engine, "quota_hourly")})
    for row in rows(engine, "quota_hourly"):
        line = expected.pop((first.index(row["hour"]), row["cluster_queue"]))
        for name in ("nominal", "used", "borrowed"):
            assert row[f"{name}_seconds"] == pytest.approx(line[name])
        assert row["lent_seconds"] + row["idle_seconds"] == pytest.approx(line["unused"])
        assert min(row["lent_seconds"], row["idle_seconds"]) >= 0
        lent[first.index(row["hour"])] += row["lent_seconds"] - line["borrowed"]
    assert expected == {}
    assert max(lent.values()) == pytest.approx(0, abs=1e-6)  # lent is never more than borrowed
    assert len(first) == HOURS  # the last two of them without any change


def test_levels_are_the_same_however_the_events_came(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "PART_EVENTS", 5)
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in sealed(*([event] for event in story(3))):
        ledger.append(1, entries[0].seq - 1, entries, AT)
    tables, history = (quota_hour, quota_level, quota_position), [list(ledger.read())]
    with engine.begin() as conn:
        before = [conn.execute(select(table)).fetchall() for table in tables]
        projection.rebuild(conn, 0, history)
        assert [conn.execute(select(table)).fetchall() for table in tables] == before
    assert all(before)


def test_a_queue_lends_in_the_cohort_that_it_was_in_then(engine: Engine) -> None:
    events: list[Event] = [define(START_US, name, 4) for name in ("a", "b")]
    events += [submit(1), reserve(START_US, 1, "a", 6), release(START_US + HOUR_US, 1, "a")]
    events += [define(START_US + HOUR_US, "b", 4, cohort="elsewhere")]
    events += [define(START_US + 2 * HOUR_US, "late", 1, cohort="")]
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in sealed(events):
        ledger.append(1, 0, entries, AT)
    mapping = {
        (row["hour"][11:13], row["cluster_queue"]): (row["cohort"], row["lent_seconds"])
        for row in rows(engine, "quota_hourly")
    }
    assert (mapping["07", "b"], mapping["08", "b"]) == (("all", 7_200), ("elsewhere", 0))
