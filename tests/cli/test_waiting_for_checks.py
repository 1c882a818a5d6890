"""A workload with quota that waits for an admission check is shown as such by every command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import pytest
from msgspec.structs import replace

from tests.cli.conftest import Tidegate
from tests.parts.sample import filled
from tests.replay.world import World
from tidegate.contracts import observations
from tidegate.model.quota import CheckRule

REASON = "UnsatisfiedAdmissionChecks"
Ask: TypeAlias = Callable[..., list[dict[str, Any]]]
CHECKS = ("budget", "capacity")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Lend a ledger in which one job waits for a check, and one behind it for quota."""
    world = World().open()
    world.turn(*(check(name) for name in CHECKS))
    queue = world.queue("c")
    assert isinstance(queue, observations.ClusterQueueObserved)
    rules = tuple(CheckRule(name=name) for name in CHECKS)
    world.turn(replace(queue, spec=replace(queue.spec, checks=rules)))
    world.turn(world.submit("c", 4, 0))
    [name] = world.jobs
    since = f"{world.bus.state.ledger_id}/{world.entries[-1].seq}"
    budget = observations.CheckSeen(name="budget", state="Ready")
    capacity = observations.CheckSeen(name="capacity", state="Pending", message="2 of 4 nodes")
    world.turn(world.tell(name, checks=(budget, capacity), checks_since=since))
    world.turn(world.submit("c", 4, 0))
    path = str(tmp_path_factory.mktemp("checks") / "ledger.db")
    with filled(path, [world.entries]):
        yield path


def check(name: str) -> observations.CheckObserved:
    return observations.CheckObserved(
        name=name, uid=name, version=1, session="a", controller="x/y", active=True
    )


@pytest.fixture
def asked(tidegate: Tidegate, ledger: str) -> Ask:
    """Ask a command for JSON of that ledger."""

    def ask(*arguments: str) -> list[dict[str, Any]]:
        result = tidegate(*arguments, "--ledger", ledger, "-o", "json")
        assert result.exit_code == 0, result.output
        document = msgspec.json.decode(result.stdout)
        return document if isinstance(document, list) else [document]

    return ask


def test_it_stands_beside_the_queue_with_what_a_check_said(asked: Ask) -> None:
    waits, first = sorted(asked("show", "pending"), key=lambda row: row["position"] or 0)
    assert (waits["position"], waits["reason"]) == (None, REASON)
    assert waits["message"] == "Admission check capacity is Pending: 2 of 4 nodes"
    assert (first["position"], first["reason"]) == (1, "WaitingForQuota")
    [queue] = [row for row in asked("show", "queues") if row["name"] == "c"]
    assert (queue["pending"], queue["reserving"], queue["head"]) == (1, 1, first["workload"])


def test_why_tells_of_checks_and_never_that_no_quota_was_looked_at(
    tidegate: Tidegate, ledger: str, asked: Ask
) -> None:
    [key] = [row["workload"] for row in asked("show", "pending") if row["reason"] == REASON]
    [story] = asked("why", key)
    [wait] = story["waits"]
    assert (wait["reason"], wait["checks"]["capacity"]) == (REASON, "Pending: 2 of 4 nodes")
    stdout = tidegate("why", key, "--ledger", ledger).stdout
    assert "waits for admission checks: budget (Ready), capacity (Pending: 2 of 4 nodes)" in stdout
    assert "quota was not tried" not in stdout


def test_why_not_names_the_check_that_is_not_ready(asked: Ask) -> None:
    [row] = [row for row in asked("show", "pending") if row["reason"] == REASON]
    [answer] = asked("why-not", row["workload"])
    assert answer["reason"] == REASON
    assert [obstacle["text"] for obstacle in answer["obstacles"]] == [
        "Admission check capacity is Pending: 2 of 4 nodes"
    ]


def test_the_other_lists_have_the_reason_too(tidegate: Tidegate, ledger: str, asked: Ask) -> None:
    for command in ("show workloads", "show workloads --all", "show positions"):
        rows = [row for row in asked(*command.split()) if row["reason"] == REASON]
        assert len(rows) == 1, command
    stdout = tidegate("top", "--once", "--ledger", ledger).stdout
    assert REASON in stdout.partition("WAITING")[2]
