"""A month's statement: what it says is the ledger's, and once it is closed nothing changes it."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.parts.sample import append, filled
from tidegate.cli.program import build_app
from tidegate.cli.sample.ledger import CLUSTER, EPOCH, sample_turns
from tidegate.cli.times import parse_utc
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    FlavorDefined,
    LedgerOpened,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.state.state import State
from tidegate.model.quota import Price
from tidegate.replay.rebuild import rebuild

APRIL_US = parse_utc("2026-04-01T06:00:00Z")
MONTH_S = 31 * 86_400
OTHER = "0" * 64


class Books:
    """A folder with a ledger that goes on until April, and a key."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger = folder, str(folder / "ledger.db")
        with filled(f"sqlite:///{self.ledger}", sample_turns(APRIL_US)):
            pass
        assert self.run("ledger", "keygen", "--out", self.path("key")).exit_code == 0

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(build_app(), list(words), env={"TIDEGATE_LEDGER": self.ledger})

    def price(self, cost: str) -> None:
        """Let the ledger go on with another price of CPU, also for the days that are over."""
        price = Price(resource="cpu", cost=cost, currency="EUR", begin="2026-03-01")

        def changed(state: State) -> FlavorDefined:
            known = state.objects.flavors["on-demand"]
            fact: FlavorDefined = replace(known, at_us=state.now_us + 1, prices=(price,))
            return fact

        self.go_on(changed)

    def close(self, out: str = "team-a.json") -> Result:
        words = ("2026-03", "--queue", "team-a", "--key", self.path("key"))
        return self.run("statement", "close", *words, "--out", self.path(out))

    def verify(self, out: str = "team-a.json") -> Result:
        key = ("--public-key", self.path("key.pub"))
        return self.run("statement", "verify", self.path(out), *key, "-o", "json")

    def document(self, out: str = "team-a.json") -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / out).read_text())
        return document

    def move(self) -> None:
        """Let team-a be in partition 1 from April on; what it used stays in 0."""
        moved = list[ClusterQueueDefined]()

        def removed(state: State) -> ClusterQueueRemoved:
            known = state.objects.cluster_queues["team-a"]
            moved.append(replace(known, at_us=state.now_us))
            return ClusterQueueRemoved(at_us=state.now_us, name="team-a", uid=known.uid)

        self.go_on(removed)
        opened = LedgerOpened(at_us=moved[0].at_us, ledger_id="other", partition=1)
        engine = open_engine(f"sqlite:///{self.ledger}")
        try:
            ledger = SqlLedger(engine, 1, clock_us=lambda: 0)
            ledger.begin_term("other", 0)
            append(ledger, seal(replace(GENESIS, partition=1), EPOCH, CLUSTER, [opened, *moved]))
        finally:
            engine.dispose()

    def annotate(self, digest: str, author: str = "kim", partition: int = 0) -> int:
        """Let the ledger go on with the annotation of a closed month; return its seq."""
        text = f"2026-03={digest}"

        def changed(state: State) -> ClusterQueueDefined:
            known = state.objects.cluster_queues["team-a"]
            fact: ClusterQueueDefined = replace(
                known, at_us=state.now_us, statement=text, author=author
            )
            return fact

        return self.go_on(changed, partition)

    def go_on(self, changed: Callable[[State], FactEvent], partition: int = 0) -> int:
        engine = open_engine(f"sqlite:///{self.ledger}")
        try:
            ledger = SqlLedger(engine, partition, clock_us=lambda: 0)
            state, head = rebuild(ledger.read())
            entries = seal(head, EPOCH, CLUSTER, [changed(state)])
            append(ledger, entries)
            return entries[0].seq
        finally:
            engine.dispose()


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path)


def test_a_statement_says_what_the_raw_events_say(books: Books) -> None:
    assert books.close().exit_code == 0
    statement = books.document()["statement"]
    cores = [row for row in statement["rows"] if row["SkuId"] == "on-demand/cpu"]
    # tune holds 6 cores from 10:00 of 2 March to beyond the month's end, and sweep 4 from 09:15.
    days = {core["ChargePeriodStart"] for core in cores}
    assert len(days) == 30
    on_a_full_day = [core for core in cores if core["ChargePeriodStart"] == "2026-03-17T00:00:00Z"]
    assert {charge["x_Author"]: charge["ConsumedQuantity"] for charge in on_a_full_day} == {
        "ann": 24 * 6,
        "bob": 24 * 4,
    }
    assert sum(charge["BilledCost"] for charge in on_a_full_day) == pytest.approx(24 * 10 * 0.04)
    assert statement["unpriced"] == ["on-demand/memory"]
    assert statement["totals"][0]["cost"] == pytest.approx(
        sum(core["BilledCost"] for core in cores)
    )


def test_a_statement_that_an_event_names_is_closed_and_a_later_price_changes_nothing(
    books: Books,
) -> None:
    stderr = books.close().stderr
    digest = books.document()["digest"]
    assert f"tidegate.dev/statement=2026-03={digest}" in stderr
    open_still = books.verify()
    assert (open_still.exit_code, "is not closed" in open_still.stderr) == (1, True)
    seq = books.annotate(digest)
    books.price("7")
    closed = books.verify()
    assert closed.exit_code == 0, closed.stderr
    document = json.loads(closed.stdout)
    assert (document["closedSeq"], document["closedBy"], document["asOfSeq"]) == (
        seq,
        "kim",
        seq - 1,
    )
    again = books.close("second.json")
    assert (again.exit_code, f"closed by seq {seq} already" in again.stderr) == (0, True)
    other = books.verify("second.json")
    assert (other.exit_code, "with another statement" in other.stderr) == (1, True)


def test_the_first_event_that_names_a_month_counts(books: Books) -> None:
    books.close()
    books.annotate(books.document()["digest"])
    later = books.annotate(OTHER, author="lee")
    verdict = books.verify()
    assert (verdict.exit_code, f"Seq {later} names another" in verdict.stderr) == (0, True)
    assert "statement of 2026-03, by lee" in books.run("events", "--tail", "1").stdout


def test_a_queue_that_moved_to_another_partition_has_one_statement(books: Books) -> None:
    books.close("before.json")
    books.move()
    assert "rows as of seq 1/2." in books.close().stderr
    before, statement = books.document("before.json")["statement"], books.document()["statement"]
    assert (statement["partition"], statement["seq"]) == (1, 2)
    assert statement["rows"] == before["rows"] != []
    seq = books.annotate(books.document()["digest"], partition=1)
    books.price("7")
    closed = books.verify()
    assert closed.exit_code == 0, closed.stderr
    verified = json.loads(closed.stdout)
    assert (verified["closedPartition"], verified["closedSeq"]) == (1, seq)
    assert (verified["asOfPartition"], verified["asOfSeq"]) == (1, 2)
    again = books.close("second.json")
    assert (again.exit_code, f"closed by seq 1/{seq} already" in again.stderr) == (0, True)


def test_a_month_that_is_not_over_and_a_queue_that_is_none_are_refused(books: Books) -> None:
    given = ("--queue", "team-a", "--key", books.path("key"), "--out", books.path("never"))
    early = books.run("statement", "close", "2026-04", *given)
    assert (early.exit_code, "is not over" in early.stderr) == (2, True)
    late = books.run("statement", "close", "2026-02", *given)
    assert (late.exit_code, "over before this ledger began" in late.stderr) == (2, True)
    assert books.run("statement", "close", "2026-13", *given).exit_code == 2
    result = books.run("statement", "close", "2026-03", "--queue", "team-z", *given[2:])
    assert (result.exit_code, "no ClusterQueue" in result.stderr) == (1, True)
    assert not Path(books.path("never")).exists()


@pytest.mark.parametrize("field", ["ConsumedQuantity", "BilledCost", "ListUnitPrice"])
def test_a_statement_that_was_altered_is_found(books: Books, field: str) -> None:
    books.close()
    fields = books.document()
    fields["statement"]["rows"][0][field] += 1
    Path(books.path("altered.json")).write_text(json.dumps(fields))
    verdict = books.verify("altered.json")
    assert (verdict.exit_code, "altered" in verdict.stderr) == (1, True)


def test_usage_that_was_changed_in_the_ledger_is_found(books: Books) -> None:
    books.close()
    with closing(sqlite3.connect(books.ledger)) as conn, conn:
        for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            conn.execute(f'DROP TRIGGER "{name}"')
        conn.execute(
            "UPDATE ledger_event SET at_us = at_us - 60000000,"
            " payload = replace(payload, at_us, at_us - 60000000) WHERE seq = 74"
        )
    verdict = books.verify()
    assert verdict.exit_code == 1


def test_its_csv_has_the_columns_of_focus(books: Books) -> None:
    books.close()
    done = books.run("statement", "show", books.path("team-a.json"), "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {"BilledCost", "BillingCurrency", "ChargePeriodStart", "ConsumedQuantity"} < set(rows[0])
    assert len(rows) == len(books.document()["statement"]["rows"])
    shown = books.run("statement", "show", books.path("team-a.json"))
    assert "EUR in 2026-03" in shown.stderr
