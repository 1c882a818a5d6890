"""What each endpoint answers: the command line's own answers, asked over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any

from store.reading.entries import PAGE_ROWS
from store.views.texts import TEXTS
from tidegate.cli.commands.decisions.why import Surroundings, left_out_text, record, told_lines
from tidegate.cli.commands.decisions.why_not import record as why_not_record
from tidegate.cli.commands.events import event_types
from tidegate.cli.commands.events import record as event_record
from tidegate.cli.commands.show.positions import position_rows
from tidegate.cli.commands.show.queue import queue_records
from tidegate.cli.commands.show.usage import usage_records
from tidegate.cli.ledger.cohorts import nodes, share_rows, tree_rows
from tidegate.cli.ledger.name_lookup import naming
from tidegate.contracts.entry import Entry
from tidegate.model.numbers import whole
from tidegate.replay.story.why import names
from tidegate.replay.story.why import why as story_of
from tidegate.replay.whynot_search.whynot import why_not
from tidegate.serve.api.asking import Question
from tidegate.serve.refusals import RefusalError
from tidegate.subscribe import Wish

AHEAD_MAX = 10
TRIALS_MAX = 60
"""A search for what would let a workload start tries no more: it keeps a thread busy."""
EVENTS_LOOKED_MAX = 20_000
"""One request for events looks at so many; the next goes on where it ended."""
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
    kind = question.sight.job_kind or kind  # who may get such jobs alone is told of such alone
    text = f"{namespace}/{kind}/{name}" if kind else f"{namespace}/{name}"
    results = names(question.reader.submissions(name), text)
    if not results:
        message = f"The ledger knows no workload {kind or 'of the name'} {name!r} in {namespace!r}."
        raise RefusalError(HTTPStatus.NOT_FOUND, message)
    return results[-1]


def answer_why(question: Question) -> dict[str, Any] | str:
    """Return why a workload waits, runs or was stopped: see ``tidegate why``."""
    story = story_of(naming(question.reader, key_of(question)), key_of(question))
    around = Surroundings({})
    if question.values["detail"] != "brief":
        around = question.notes.around(
            question.reader, story, whole=question.values["detail"] == "whole"
        )
    if question.values["format"] == "json":
        return {**record(story, around.notes), "leftOut": around.left_out}
    lines = [left_out_text(around)] if around.left_out else []
    lines += told_lines(story, around.notes, wide=question.values["format"] == "wide")
    return "".join(f"{line}\n" for line in lines)


def answer_why_not(question: Question) -> dict[str, Any]:
    """Return what would have to change for a workload to start now: see ``tidegate why-not``."""
    key = key_of(question)
    # The search decides on copies, but what it copies must not change meanwhile: its own state.
    return why_not_record(why_not(question.reader.state(), key, TRIALS_MAX, lambda: None))


def answer_queues(question: Question) -> list[dict[str, Any]]:
    """List ClusterQueues: see ``tidegate show queues``."""
    rows = queue_records(question.reader)
    namespace = question.values["namespace"]
    if not namespace:
        return rows
    with question.state() as state:
        own = {
            local.spec.cluster_queue
            for local in state.objects.local_queues.values()
            if local.namespace == namespace
        }
    return [row for row in rows if row["name"] in own]


def answer_positions(question: Question) -> list[dict[str, Any]]:
    """List who waits: see ``tidegate show positions``."""
    rows = position_rows(
        question.reader, question.paces(), queue=question.values["queue"], named_max=AHEAD_MAX
    )
    return [row for row in rows if question.values["namespace"] in {"", row["namespace"]}]


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
    queue = question.values["queue"]
    rows = [row for row in usage_records(question.reader) if queue in {"", row["clusterQueue"]}]
    return rows if question.sight.everything else [{**row, "usedBy": []} for row in rows]


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
        looked = islice(question.reader.ledger.back(question.reader.end), EVENTS_LOOKED_MAX)
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
    """Return which ledger it is, and how far it got."""
    fields = question.reader.info()
    fields_shown = ("ledgerId", "cluster", "software", "headSeq", "headHash", "headAt", "turns")
    return {name: fields[name] for name in (*fields_shown, "archivedSeq", "snapshotSeq")}
