"""``tidegate show budgets``: what is spent, day by day, and when all of it will be."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from tests.parts.sample import filled
from tests.replay.world import World
from tidegate.cli.program import build_app
from tidegate.contracts import observations
from tidegate.model.quantity import amount
from tidegate.model.quota import Budget

HOUR_S = 3_600
DAY_S = 24 * HOUR_S


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ledger in which c holds 2 cores of a budget of 100 core hours a month, for a day."""
    world = World().open()
    set_budget(world)
    world.turn(world.submit("c", 2, 0))
    world.all_obey()
    for _ in range(2):
        world.turn(world.wait(DAY_S // 2), world.submit("a", 1, 0))
    with kept(world, tmp_path_factory.mktemp("budgets")) as url:
        yield url


def set_budget(world: World) -> None:
    queue = world.queue("c")
    assert isinstance(queue, observations.ClusterQueueObserved)
    monthly = Budget(resource="cpu", hours=100_000, period="month", hard=True)
    world.turn(replace(queue, spec=replace(queue.spec, budgets=(monthly,))))


@contextmanager
def kept(world: World, folder: Path) -> Generator[str]:
    turns = (list(entries) for _, entries in groupby(world.entries, key=lambda entry: entry.turn))
    file = str(folder / "ledger.db")
    with filled(file, turns):
        yield file


def ran(ledger: str, *words: str) -> Result:
    return CliRunner().invoke(build_app(), ["show", "budgets", *words, "--ledger", ledger])


def read_json(ledger: str, *words: str) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = json.loads(ran(ledger, *words, "-o", "json").stdout)
    return documents


def head(ledger: str) -> str:
    shown = CliRunner().invoke(build_app(), ["ledger", "info", "-o", "json", "--ledger", ledger])
    return str(json.loads(shown.stdout)["headSeq"])


def test_what_is_spent_and_when_all_of_it_is(ledger: str) -> None:
    (fields,) = read_json(ledger, "--as-of", head(ledger))
    assert fields["owner"] == "ClusterQueue/c"
    assert (fields["budgetHours"], fields["spentHours"], fields["percent"]) == ("100", "48", 48)
    # 52 hours are left at 2 cores: 26 hours after a day and 1,000 seconds.
    assert (fields["usage"], fields["spentAt"]) == ("2", "1970-01-03T02:16:40Z")
    assert fields["endsAt"] == "1970-02-01T00:00:00Z"


def test_of_a_time_of_the_past_it_is_counted_up_to_then(ledger: str) -> None:
    (fields,) = read_json(ledger, "--as-of", "1970-01-01T18:16:40Z")  # 6 hours behind an event
    assert fields["spentHours"] == "36"


def test_a_row_for_each_day_adds_up_to_what_is_spent(ledger: str) -> None:
    rows = read_json(ledger, "c", "--by-day", "--as-of", head(ledger))
    assert [row["day"] for row in rows] == ["1970-01-01", "1970-01-02"]
    assert sum(row["usedHours"] for row in rows) == pytest.approx(48, abs=0.01)
    assert rows[-1]["leftHours"] == pytest.approx(52, abs=0.01)


def test_what_was_used_before_the_budget_was_set_is_not_its(tmp_path: Path) -> None:
    world = World().open()
    world.turn(world.submit("c", 2, 0))
    world.all_obey()
    world.turn(world.wait(HOUR_S // 4))
    set_budget(world)
    world.turn(world.wait(HOUR_S // 2), world.submit("a", 1, 0))
    with kept(world, tmp_path) as url:
        (spent,) = read_json(url, "--as-of", head(url))
        (day,) = read_json(url, "c", "--by-day", "--as-of", head(url))
    assert spent["spentHours"] == "1"
    assert (day["usedHours"], day["leftHours"]) == (1.0, 99.0)


def test_on_a_live_ledger_it_is_counted_up_to_now(ledger: str) -> None:
    (fields,) = read_json(ledger)
    assert fields["endsAt"] > "2026-01-01T00:00:00Z"  # the clock of the database is far ahead
    days = read_json(ledger, "c", "--by-day")
    spent = amount("cpu", fields["spentHours"]) / 1_000
    assert days[-1]["spentHours"] == pytest.approx(spent, abs=0.1)


def test_of_others_nothing_is_shown(ledger: str) -> None:
    done = ran(ledger, "a")
    assert (done.exit_code, "a has no budget" in done.stderr) == (0, True)
    assert read_json(ledger, "a") == []
    assert Path(ledger).exists()
