"""A day is charged by the prices that its flavor bore at its end: compared with a slow judge.

The judge keeps every annotation by the day on which it came, and looks for each day anew; it shares
no line with the projection, which keeps spans of days.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from store.ledger import SqlLedger
from store.reading.as_of import reports_as_of
from tests.parts.drawn import drawn
from tests.parts.reports import rows
from tests.store.histories import AT, LEASE_US, sealed
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, QuotaReserved
from tidegate.contracts.facts import (
    ClusterQueueDefined,
    FactEvent,
    FlavorDefined,
    FlavorRemoved,
    WorkloadSubmitted,
)
from tidegate.kinds.kueue_api.prices import read_prices
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    Price,
    Quota,
    ResourceGroup,
)

MARCH_30_US, DAY_US, HOUR_US = 1_774_828_800_000_000, 86_400_000_000, 3_600_000_000
DAYS = ("2026-03-30", "2026-03-31", "2026-04-01", "2026-04-02")
HOURS = 24.0


def priced(at_us: int, text: str, author: str = "kim") -> FlavorDefined:
    prices = read_prices(text) if text else ()
    return FlavorDefined(at_us=at_us, name="spot", spec=FlavorSpec(), prices=prices, author=author)


def queue(at_us: int, nominal: int) -> ClusterQueueDefined:
    quotas = FlavorQuotas(flavor="spot", quotas={"cpu": Quota(nominal=nominal)})
    spec = ClusterQueueSpec(groups=(ResourceGroup(resources=("cpu",), flavors=(quotas,)),))
    return ClusterQueueDefined(at_us=at_us, name="a", spec=spec)


def held(name: str, milli: int, priority_class: str = "") -> list[FactEvent | QuotaReserved]:
    """A workload that holds so much from the first day on."""
    submitted = WorkloadSubmitted(
        at_us=MARCH_30_US,
        workload=f"n/{name}",
        uid=name,
        job=ObjectRef(kind="batch/job", namespace="n", name=name, uid=name),
        queue="main",
        created_us=MARCH_30_US,
        podsets=(),
        priority_class=priority_class,
    )
    given_ = PodSetAssignment(name="main", count=1, flavors={"cpu": "spot"}, usage={"cpu": milli})
    reserved = QuotaReserved(
        at_us=MARCH_30_US, workload=f"n/{name}", uid=name, cluster_queue="a", assignment=(given_,)
    )
    return [submitted, reserved]


def released(name: str) -> QuotaReleased:
    at_us = MARCH_30_US + len(DAYS) * DAY_US
    return QuotaReleased(at_us=at_us, workload=f"n/{name}", uid=name, cluster_queue="a")


def write(engine: Engine, *turns: Sequence[FactEvent | DecisionEvent]) -> None:
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    for entries in sealed(*turns):
        ledger.append(1, entries[0].seq - 1, entries, AT)


def hold(engine: Engine, *later: FactEvent, workloads: tuple[tuple[str, int, str], ...]) -> None:
    """Write workloads that hold for four days, with facts in between, a turn each."""
    begun = [event for workload in workloads for event in held(*workload)]
    ended = [released(name) for name, *_ in workloads]
    write(engine, [queue(MARCH_30_US, 1_000), *begun], *([event] for event in later), list(ended))


ONE = (("j", 1_000, ""),)


def costs(engine: Engine) -> dict[str, float | None]:
    return {row["day"]: row["cost"] for row in rows(engine, "chargeback")}


def test_changing_april_changes_no_day_of_march(engine: Engine) -> None:
    april_us = MARCH_30_US + 2 * DAY_US + HOUR_US
    hold(
        engine,
        priced(MARCH_30_US, "cpu=0.5 EUR"),
        priced(april_us, "cpu=2 EUR from 2026-01-01", "lee"),
        workloads=ONE,
    )
    assert list(costs(engine).values()) == [12.0, 12.0, 48.0, 48.0]
    used = [(row["price_from"], row["price_seq"]) for row in rows(engine, "chargeback")]
    assert used == [("2026-03-30", 4), ("2026-03-30", 4), ("2026-04-01", 5), ("2026-04-01", 5)]
    history = [
        (row["per_unit_hour"], row["author"], row["day_until"], row["to_seq"], row["ended_by"])
        for row in rows(engine, "prices")
    ]
    assert history == [
        (0.5, "kim", "2026-04-01", 5, "lee"),
        (2.0, "lee", "2026-03-30", None, ""),  # before there was any price
        (2.0, "lee", None, None, ""),
    ]


def test_days_without_a_price_are_given_one_by_the_day_from_which_it_holds(engine: Engine) -> None:
    april_us = MARCH_30_US + 2 * DAY_US
    hold(engine, priced(april_us, "cpu=2 EUR from 2026-03-31"), workloads=ONE)
    assert list(costs(engine).values()) == [None, 48.0, 48.0, 48.0]


def test_a_price_that_says_no_day_begins_on_the_day_on_which_it_is_set(engine: Engine) -> None:
    hold(engine, priced(MARCH_30_US + DAY_US + HOUR_US, "cpu=2 EUR"), workloads=ONE)
    assert list(costs(engine).values()) == [None, 48.0, 48.0, 48.0]


def test_an_ended_price_does_not_bring_back_the_one_before_it(engine: Engine) -> None:
    text_ = "cpu=0.5 EUR from 2026-03-30, cpu=2 EUR from 2026-03-31 until 2026-04-01"
    hold(engine, priced(MARCH_30_US, text_), workloads=ONE)
    assert list(costs(engine).values()) == [12.0, 48.0, None, None]


def test_the_most_special_price_counts(engine: Engine) -> None:
    text_ = "cpu=4 EUR, cpu=3 EUR borrowed, cpu=2 EUR class low, cpu=1 EUR borrowed class low"
    work = (("j", 1_500, ""), ("k", 500, "low"))
    hold(engine, priced(MARCH_30_US, text_), workloads=work)
    # Two cores are held where one is nominal: half of what each holds is borrowed.
    mapping = {
        (row["priority_class"], row["quota"]): (row["unit_hours"], row["per_unit_hour"])
        for row in rows(engine, "chargeback")
        if row["day"] == DAYS[1]
    }
    assert mapping == {
        ("", "own"): (18.0, 4.0),
        ("", "borrowed"): (18.0, 3.0),
        ("low", "own"): (6.0, 2.0),
        ("low", "borrowed"): (6.0, 1.0),
    }


def test_own_and_borrowed_are_distinguished_by_the_hour(engine: Engine) -> None:
    more_us = MARCH_30_US + DAY_US // 2
    hold(
        engine,
        priced(MARCH_30_US, "cpu=1 EUR, cpu=3 EUR borrowed"),
        queue(more_us, 2_000),
        workloads=(("j", 2_000, ""),),
    )
    days = {(row["day"], row["quota"]): row["unit_hours"] for row in rows(engine, "chargeback")}
    assert days[DAYS[0], "borrowed"] == 12.0
    assert days[DAYS[0], "own"] == 36.0
    assert (DAYS[1], "borrowed") not in days


def test_a_removed_flavor_costs_nothing_from_that_day_on(engine: Engine) -> None:
    gone = FlavorRemoved(at_us=MARCH_30_US + 2 * DAY_US, name="spot")
    hold(engine, priced(MARCH_30_US, "cpu=0.5 EUR"), gone, workloads=ONE)
    assert list(costs(engine).values()) == [12.0, 12.0, None, None]


def test_what_stays_as_it_was_keeps_its_author(engine: Engine) -> None:
    write(
        engine,
        [priced(MARCH_30_US, "cpu=1 EUR, memory=2 EUR/Gi")],
        [priced(MARCH_30_US + DAY_US, "cpu=1 EUR, memory=3 EUR/Gi", "lee")],
    )
    cost_of = [(row["author"], row["per_unit_hour"]) for row in rows(engine, "prices")]
    assert cost_of == [("kim", 1.0), ("kim", 2 / (1 << 30)), ("lee", 3 / (1 << 30))]


DAY_TEXTS = [f"2026-04-{day:02d}" for day in range(1, 11)]


def price_text(cost: int, kind: tuple[str, ...], begin: str | None, end: str | None) -> str:
    days = (f"{word} {day}" for word, day in (("from", begin), ("until", end)) if day)
    return " ".join([f"cpu={cost} EUR", *kind, *days])


PRICES = st.builds(
    price_text,
    st.integers(1, 9),
    st.sampled_from([(), ("class low",), ("borrowed",), ("own class low",)]),
    st.none() | st.sampled_from(DAY_TEXTS),
    st.none() | st.sampled_from(DAY_TEXTS),
)
ANNOTATIONS = st.lists(
    st.tuples(st.integers(0, 9), st.lists(PRICES, max_size=4)), min_size=1, max_size=6
).map(lambda pairs: sorted(pairs, key=lambda row: row[0]))


def judged(changes: list[tuple[int, tuple[Price, ...]]]) -> dict[str, dict[str, float]]:
    """Return each day's prices by what they are of, as it stands after all changes."""
    known = dict[str, dict[str, float]]()
    for (at, prices), following in pairwise([*changes, (len(DAY_TEXTS), ())]):
        for place, day in enumerate(DAY_TEXTS):
            over, lasts = place < at, at <= place < max(following[0], at)
            if lasts or (not over and following[0] == at):
                known[day] = in_force(prices, day, backwards=False)
            elif over and not known.get(day):
                known[day] = in_force(prices, day, backwards=True)
    return known


def in_force(prices: tuple[Price, ...], day: str, *, backwards: bool) -> dict[str, float]:
    """Return a day's price of each class and quota; of a day that is over, where it says so."""
    of = dict[str, list[Price]]()
    for price in prices:
        of.setdefault(f"{price.priority_class}/{price.quota}", []).append(price)
    mapping = dict[str, float]()
    for key, several in of.items():
        begun = [rate for rate in several if rate.begin <= day and (rate.begin or not backwards)]
        newest = max(begun, key=lambda price: price.begin, default=None)
        if newest is not None and not (newest.end and newest.end <= day):
            mapping[key] = float(newest.cost)
    return mapping


def readable(texts: list[str]) -> tuple[Price, ...] | None:
    try:
        return read_prices(", ".join(texts)) if texts else ()
    except Exception:  # noqa: BLE001 - two alike, or one that never holds
        return None


@drawn(60)
@given(ANNOTATIONS)
def test_each_day_has_the_price_that_a_slow_judge_finds(
    drawn_changes: list[tuple[int, list[str]]],
) -> None:
    changes = [(at, prices) for at, some in drawn_changes if (prices := readable(some)) is not None]
    begin_us = MARCH_30_US + 2 * DAY_US
    if changes:
        events = [
            FlavorDefined(
                at_us=begin_us + at * DAY_US + n, name="spot", spec=FlavorSpec(), prices=prices
            )
            for n, (at, prices) in enumerate(changes)
        ]
        entries = [entry for turn in sealed(*([event] for event in events)) for entry in turn]
        with reports_as_of(entries) as engine:
            spans = rows(engine, "prices")
        for day, expected in judged(changes).items():
            fields = {
                f"{row['priority_class']}/{row['quota']}": row["per_unit_hour"]
                for row in spans
                if row["day_from"] <= day < (row["day_until"] or "9")
            }
            assert fields == expected, day


@pytest.mark.parametrize(
    "wrong",
    [
        "cpu",
        "cpu=1",
        "cpu=1 euro",
        "cpu=-1 EUR",
        "cpu=1 EUR from April",
        "cpu=1 EUR from 2026-02-30",
        "cpu=1 EUR from 2026-03-02 until 2026-03-02",
        "cpu=1 EUR, cpu=2 EUR",
        "cpu=1 EUR/X",
        ",".join(["cpu=1 EUR"] * 65),
    ],
)
def test_what_is_no_price_is_refused(wrong: str) -> None:
    with pytest.raises(Exception, match=r"price|Two|day|holds"):
        read_prices(wrong)
