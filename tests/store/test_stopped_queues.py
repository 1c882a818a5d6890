"""Since when a ClusterQueue is stopped, and by which user: whatever else of it changed."""

from __future__ import annotations

from msgspec.structs import replace
from sqlalchemy import Engine

from store.ledger import SqlLedger
from tests.parts.reports import rows
from tests.store.histories import AT, LEASE_US, sealed
from tests.store.story import cluster_queue, minute
from tidegate.contracts.facts import ClusterQueueDefined, LocalQueueDefined
from tidegate.model.quota import LocalQueueSpec, StopPolicy


def stopped(at: float, author: str, policy: StopPolicy, cohort: str) -> ClusterQueueDefined:
    defined = cluster_queue(at, "q", 4, author)
    return replace(defined, spec=replace(defined.spec, stop_policy=policy, cohort=cohort))


def test_the_report_names_the_user_that_stopped_a_queue_not_one_that_changed_it_since(
    engine: Engine,
) -> None:
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    turns = sealed(
        [stopped(0, "kim", "Hold", "a")],
        [stopped(1, "kim", "None", "a")],
        [stopped(2, "ann", "Hold", "a")],
        [stopped(3, "bob", "Hold", "b")],
    )
    seen = list[tuple[object, object]]()
    for entries in turns:
        ledger.append(1, entries[0].seq - 1, entries, AT)
        [row] = rows(engine, "queues")
        seen.append((row["stopped_at"], row["stopped_by"]))
    assert seen == [
        ("2026-03-01T07:00:00Z", "kim"),
        (None, ""),
        ("2026-03-01T07:02:00Z", "ann"),
        ("2026-03-01T07:02:00Z", "ann"),
    ]


def local_queue(at: float, policy: StopPolicy, author: str) -> LocalQueueDefined:
    spec = LocalQueueSpec(cluster_queue="q", stop_policy=policy)
    return LocalQueueDefined(at_us=minute(at), namespace="a", name="main", spec=spec, author=author)


def test_the_history_names_the_users_that_stopped_and_resumed_a_local_queue(engine: Engine) -> None:
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    policies = list[tuple[StopPolicy, str]]([("None", "kim"), ("Hold", "ann"), ("None", "bob")])
    turns = [[local_queue(at, *policy)] for at, policy in enumerate(policies)]
    for entries in sealed(*turns):
        ledger.append(1, entries[0].seq - 1, entries, AT)
    history = sorted(rows(engine, "queue_history"), key=lambda row: row["from_seq"])
    assert [(row["owner"], row["stop_policy"], row["author"]) for row in history] == [
        ("a/main", policy, author) for policy, author in policies
    ]
    assert [row["to_seq"] for row in history] == [2, 3, None]
