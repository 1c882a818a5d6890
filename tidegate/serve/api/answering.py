"""What each endpoint answers: the command line's own answers, asked over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any

from store.archive.archive_ranges import parts
from store.reading.entries import EVERY, PAGE_ROWS, Narrow
from store.views.texts import TEXTS
from tidegate.cli.commands.decisions.why import Surroundings, left_out_text, story_lines
from tidegate.cli.commands.decisions.why_not import record as why_not_record
from tidegate.cli.commands.decisions.why_records import record
from tidegate.cli.commands.events import event_types
from tidegate.cli.commands.events import record as event_record
from tidegate.cli.commands.show.positions import SECOND_US, placed_rows, startable, with_start
from tidegate.cli.commands.show.queue import counted_queues
from tidegate.cli.commands.show.usage import place_of, usage_record
from tidegate.cli.ledger.cohorts import nodes, share_rows, tree_rows
from tidegate.cli.ledger.lag import lag_us
from tidegate.cli.ledger.name_lookup import naming
from tidegate.cli.times import utc
from tidegate.contracts.entry import Entry
from tidegate.core.state.state import State
from tidegate.model.texts import whole
from tidegate.replay.names import names
from tidegate.replay.simulator.trees import cluster_queue_of
from tidegate.replay.story.why import why as story_of
from tidegate.replay.whynot_search.whynot import why_not
from tidegate.serve.api.asking import Question
from tidegate.serve.ledger.noted.index import RARE
from tidegate.serve.ledger.queueing import (
    holding_counts,
    queue_rows,
    queues_of,
    waited_for,
)
from tidegate.serve.ledger.usage import setters, usage_rows
from tidegate.serve.refusals import RefusalError, refusing
from tidegate.subscribe import Wish

AHEAD_MAX = 10
TRIALS_MAX = 60
"""A search for what would let a workload start tries no more: it keeps a thread busy."""
EVENTS_LOOKED_MAX = 20_000
"""One request for events looks at so many; the next goes on where it ended."""
_SNAPSHOT = "SELECT max(seq) FROM ledger_snapshot WHERE partition = :partition"
BY_NAMESPACE = (
    "admitted_now",
    "chargeback",
    "holdings",
    "preemptions",
    "queue_now",
    "usage_hourly",
    "waits",
)
"""Reports whose rows are each of one namespace."""


def key_of(question: Question) -> str:
    """Return the key of the workload that a path means, the newest of its name.

    Raises:
        RefusalError: the ledger knows none.
    """
    namespace, name, kind = (question.values[field] for field in ("namespace", "name", "kind"))
    kind = question.sight.job_kind or kind  # rights to one kind of jobs show that kind alone
    text = f"{namespace}/{kind}/{name}" if kind else f"{namespace}/{name}"
    # A namespace may be called as a kind of job is: job/train is a Job of any namespace, too.
    own = f"{namespace}/"
    keys = [key for key in names(question.reader.submissions(name), text) if key.startswith(own)]
    if not keys:
        message = f"The ledger knows no workload {kind or 'of the name'} {name!r} in {namespace!r}."
        raise RefusalError(HTTPStatus.NOT_FOUND, message)
    return keys[-1]


def answer_why(question: Question) -> dict[str, Any] | str:
    """Tell why a workload waits, runs or was stopped: see ``tidegate why``."""
    key = key_of(question)
    story = story_of(naming(question.reader, key), key)
    around = Surroundings({})
    if question.values["detail"] != "brief":
        around = question.around(story, whole=question.values["detail"] == "whole")
    if question.values["format"] == "json":
        return {**record(story, around.notes), "leftOut": around.left_out}
    lines = [left_out_text(around)] if around.left_out else []
    lines += story_lines(story, around.notes, wide=question.values["format"] == "wide")
    return "".join(f"{line}\n" for line in lines)


def answer_why_not(question: Question) -> dict[str, Any]:
    """Tell what would have to change for a workload to start now: see ``tidegate why-not``.

    Raises:
        RefusalError: the workload is not pending.
    """
    key = key_of(question)

    def queue(state: State) -> set[str]:
        workload = state.workloads.get(key)
        return set() if workload is None else {cluster_queue_of(state, workload)}

    state = question.part(queue)
    with refusing():  # the workload does not wait
        return why_not_record(why_not(state, key, TRIALS_MAX, lambda: None))


def answer_queues(question: Question) -> list[dict[str, Any]]:
    """List ClusterQueues: see ``tidegate show queues``."""
    later_s = lag_us(question.reader) // SECOND_US
    namespace = question.values["namespace"]
    with question.state() as state:
        visible = queues_of(state, namespace) if namespace else None
        waiting = question.waiting(state, visible)
        queues, holding = queue_rows(state), holding_counts(state)
    if visible is not None:
        queues = [row for row in queues if row["cluster_queue"] in visible]
    later = [{**row, "waited_s": row["waited_s"] + later_s} for row in waiting]
    return counted_queues(queues, later, holding)


def answer_positions(question: Question) -> list[dict[str, Any]]:
    """List who waits: see ``tidegate show positions``."""
    namespace, queue = question.values["namespace"], question.values["queue"]
    behind_us = lag_us(question.reader)
    with question.state() as state:
        queues = {queue} if queue else waited_for(state, namespace) if namespace else None
        rows = placed_rows(question.waiting(state, queues), behind_us, AHEAD_MAX)
        rows = [row for row in rows if namespace in {"", row["namespace"]}]
        play = question.starts.prepared(question.reader, state, startable(rows))
    starts = play()
    return [with_start(row, starts) for row in rows]


def answer_tree(question: Question) -> list[dict[str, Any]]:
    """List the cohort trees' nodes: see ``tidegate show tree``."""
    with question.state() as state:
        return tree_rows(nodes(state, question.values["of"]))


def answer_shares(question: Question) -> list[dict[str, Any]]:
    """List the fair shares: see ``tidegate show shares``."""
    with question.state() as state:
        return share_rows(nodes(state, question.values["of"]))


def answer_usage(question: Question) -> list[dict[str, Any]]:
    """List what becomes of quota: see ``tidegate show usage``; who uses it for who sees all."""
    database, queue = question.reader.database, question.values["queue"]
    assert database is not None, "an archive is not served"
    set_by = setters(database, question.reader.end, question.reader.partition)
    with question.state() as state:
        rows = [row for row in usage_rows(state) if queue in {"", row["cluster_queue"]}]
    everything = question.sight.everything
    return [
        usage_record(row, row["users"] if everything else [], set_by.get(place_of(row), ""))
        for row in rows
    ]


def answer_reports(_asked: Question) -> list[dict[str, Any]]:
    """List the SQL reports."""
    return [
        {"name": name, "about": view.about, "byNamespace": name in BY_NAMESPACE}
        for name, view in TEXTS.items()
    ]


def answer_report(question: Question) -> list[dict[str, Any]]:
    """Return the rows of a SQL report: see ``tidegate report``.

    Raises:
        RefusalError: its rows are of no namespace, and one was asked for.
    """
    name, namespace = question.values["report"], question.values["namespace"]
    if namespace and name in TEXTS and name not in BY_NAMESPACE:
        message = f"The report {name} sums what all namespaces have: ask for it without namespace."
        raise RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, message)
    return question.reader.report(name, {"namespace": namespace} if namespace else None)


def answer_events(question: Question) -> list[dict[str, Any]]:
    """Return events behind one, or the newest: see ``tidegate events``."""
    limit = min(whole(question.values["limit"]) or PAGE_ROWS // 10, PAGE_ROWS)
    wish = wish_of(question.values)
    after = whole(question.values["after"]) if question.values["after"] else None
    if after is None:
        narrow = Narrow(frozenset(wish.types)) if {*wish.types} <= RARE else EVERY
        looked = islice(
            question.reader.ledger.back(question.reader.end, narrow=narrow), EVENTS_LOOKED_MAX
        )
        return event_records(reversed(list(islice(filter(wish.takes, looked), limit))))
    until = min(question.reader.end, after + EVENTS_LOOKED_MAX)
    return event_records(
        islice(filter(wish.takes, question.reader.ledger.read(after, until)), limit)
    )


def wish_of(values: Any) -> Wish:  # noqa: ANN401 - a mapping of texts
    """Return which events are wanted.

    Raises:
        UnknownNameError: there is no such type.
    """
    return Wish(event_types(values["type"]), values["queue"], values["namespace"])


def event_records(entries: Iterator[Entry]) -> list[dict[str, Any]]:
    """Return events for programs."""
    return [event_record(entry) for entry in entries]


def answer_ledger(question: Question) -> dict[str, Any]:
    """Tell which ledger it is, and how far it got."""
    reader = question.reader
    assert reader.database is not None, "an archive is not served"
    select = reader.database.select
    head = next(iter(reader.ledger.back(reader.end, 1)), None)
    return {
        **question.live.identity,
        "headSeq": 0 if head is None else head.seq,
        "headHash": "" if head is None else head.hash.hex(),
        "headAt": None if head is None else utc(head.at_us),
        "turns": 0 if head is None else head.turn,
        "archivedSeq": max((part.seq for part in parts(select, reader.partition)), default=0),
        "snapshotSeq": select(_SNAPSHOT, partition=reader.partition)[0][0],
        "verifiedSeq": question.live.verified_seq,
        "brokenSeq": question.live.broken_seq or None,
    }
