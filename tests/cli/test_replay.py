"""Replays of ledgers, archives and growing ledgers, and what forged histories show."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from tests.cli.conftest import Tidegate
from tests.parts.sample import TURNS, append, filled
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent, WorkloadPending, WorkloadPreempted
from tidegate.contracts.entry import Entry, Positions
from tidegate.contracts.facts import FactEvent

Told = FactEvent | DecisionEvent
Change = Callable[[list[Told]], list[Told]]


def written(file: Path, change: Change) -> Path:
    """Write the sample with each turn's events changed, and sealed as if nothing had been."""
    engine = open_engine(str(file))
    migrate.upgrade(engine)
    ledger, head = SqlLedger(engine, clock_us=lambda: 0), GENESIS
    ledger.begin_term("forger", 0)
    for entries in TURNS:
        events = change([decode(entry.payload) for entry in entries])
        sealed: list[Entry] = seal(head, 1, "local", events)
        ledger.append(1, head.seq, sealed, Positions())
        head = sealed[-1]
    engine.dispose()
    return file


def preempted_for_another(events: list[Told]) -> list[Told]:
    return [
        replace(event, reason="InClusterQueue") if isinstance(event, WorkloadPreempted) else event
        for event in events
    ]


def without_reasons(events: list[Told]) -> list[Told]:
    return [event for event in events if not isinstance(event, WorkloadPending)]


def held_by_smaller_numbers(events: list[Told]) -> list[Told]:
    return [
        replace(event, tried=(replace(event.tried[0], unused=7), *event.tried[1:]))
        if isinstance(event, WorkloadPending)
        else event
        for event in events
    ]


def admitting_a_workload_twice(events: list[Told]) -> list[Told]:
    return [*events, events[-1]] if isinstance(events[-1], WorkloadPending) else events


@pytest.mark.parametrize(
    ("change", "seq", "field"),
    [
        (preempted_for_another, 43, "reason"),
        (without_reasons, 46, "type"),
        (held_by_smaller_numbers, 46, "tried[0].unused"),
        (admitting_a_workload_twice, 47, "type"),
    ],
)
def test_a_decision_that_the_core_would_not_take_is_found_and_explained(
    tidegate: Tidegate, tmp_path: Path, change: Change, seq: int, field: str
) -> None:
    forged = written(tmp_path / "forged.db", change)
    assert tidegate("replay", "--ledger", str(forged)).exit_code == 0
    result = tidegate("replay", "--verify", "-o", "json", "--ledger", str(forged))
    document = json.loads(result.stdout)
    assert (result.exit_code, document["agrees"], document["divergence"]["seq"]) == (1, False, seq)
    assert [difference["field"] for difference in document["divergence"]["differences"]] == [field]
    assert f"The decision at seq {seq} (turn " in result.stderr
    assert f"  {field}: recorded " in result.stderr


def test_a_replay_that_ends_before_the_forgery_agrees(tidegate: Tidegate, tmp_path: Path) -> None:
    forged = str(written(tmp_path / "forged.db", preempted_for_another))
    assert tidegate("replay", "--verify", "--to", "40", "--ledger", forged).exit_code == 0
    assert tidegate("replay", "--verify", "--to", "41", "--ledger", forged).exit_code == 1


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_an_archive_replays_as_its_ledger_does(
    tidegate: Tidegate, tmp_path: Path, suffix: str
) -> None:
    archive = str(tmp_path / f"history.{suffix}")
    assert tidegate("ledger", "export", archive).exit_code == 0
    there = tidegate("replay", "--verify", "-o", "name", "--ledger", archive)
    assert there.stdout == tidegate("replay", "-o", "name").stdout != ""


def test_a_replay_ends_where_the_ledger_ended_though_a_writer_goes_on(
    tidegate: Tidegate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing, read = str(tmp_path / "growing.db"), SqlLedger.read
    with filled(growing, TURNS[:5]) as ledger:

        def read_while_written(self: SqlLedger, after: int = 0, until: int | None = None) -> object:
            for entry in read(self, after, until):
                if entry.seq == TURNS[4][0].seq:
                    append(ledger, TURNS[5])
                yield entry

        monkeypatch.setattr(SqlLedger, "read", read_while_written)
        result = tidegate("replay", "--verify", "-o", "json", "--ledger", growing)
        monkeypatch.undo()
    assert json.loads(result.stdout)["to"] == TURNS[4][-1].seq
