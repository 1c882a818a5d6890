"""The answers of the endpoints: those of the command line, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from http import HTTPStatus
from itertools import islice
from operator import itemgetter
from typing import Any

from store.reading.entries import EVERY, PAGE_ROWS, EntryFilter
from store.views.texts import TEXTS
from tidegate.cli.commands.decisions.why import StoryContext, left_out_text, story_lines
from tidegate.cli.commands.decisions.why_records import story_record
from tidegate.cli.commands.events import event_record, event_types
from tidegate.cli.commands.show.positions import (
    SECOND_US,
    ranked_rows,
    startable_queues,
    with_start,
)
from tidegate.cli.commands.show.queue import queue_summary_rows
from tidegate.cli.commands.show.usage import quota_key, usage_record
from tidegate.cli.ledger.cohorts import nodes_of_partitions, share_rows, tree_rows
from tidegate.cli.ledger.name_lookup import entries_naming, readers_of_workload
from tidegate.cli.ledger.partitions import merge_by_time, time_order_key
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.ledger.reading import Reader
from tidegate.contracts.entry import Entry
from tidegate.core.state.state import State
from tidegate.model.texts import parse_whole
from tidegate.replay.names import resolve_workloads
from tidegate.replay.story.why import Story, story_of
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.index import RARE
from tidegate.serve.ledger.partitions.positions import Ends, advance, parse_position
from tidegate.serve.ledger.queueing import (
    queue_rows,
    queues_of,
    queues_waited_for,
    reserving_counts,
)
from tidegate.serve.ledger.usage import quota_setters, usage_rows
from tidegate.serve.refusals import RefusalError
from tidegate.subscribe import SubscriptionFilter

AHEAD_MAX = 10
EVENTS_LOOKED_MAX = 20_000
"""The maximum of events that one request reads; the next request goes on there."""
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
    """Return the key of the workload that a path means, the newest of its name."""
    namespace, name, kind = (question.values[field] for field in ("namespace", "name", "kind"))
    kind = question.sight.job_kind or kind  # rights to one kind of jobs show that kind alone
    text = f"{namespace}/{kind}/{name}" if kind else f"{namespace}/{name}"
    # A namespace may be called as a kind of job is: job/train is a Job of any namespace, too.
    own = f"{namespace}/"
    submitted = merge_by_time(
        *(each.submissions(name, namespace) for each in question.reader.partition_readers())
    )
    keys = [key for key in resolve_workloads(submitted, text) if key.startswith(own)]
    if not keys:
        message = f"The ledger knows no workload {kind or 'of the name'} {name!r} in {namespace!r}."
        raise RefusalError(HTTPStatus.NOT_FOUND, message)
    return keys[-1]


def answer_why(question: Question) -> dict[str, Any] | str:
    """Tell why a workload waits, runs or was stopped: see ``tidegate why``.

    A workload that changed the partition has a story in each, the newest last.
    """
    key = key_of(question)
    stories = [
        _story_of(question.for_partition(each.partition), key)
        for each in readers_of_workload(question.reader, key)
    ]
    if question.values["format"] == "json":
        return _merge_records(stories, several=question.has_several_partitions)
    lines = [left_out_text(around) for _, around in stories if around.left_out]
    wide = question.values["format"] == "wide"
    for story, around in stories:
        lines += story_lines(
            story, around.notes, wide=wide, several=question.has_several_partitions
        )
    return "".join(f"{line}\n" for line in lines)


def _story_of(question: Question, key: str) -> tuple[Story, StoryContext]:
    """Return a workload's story in one partition, and what stood around it."""
    story = story_of(entries_naming(question.reader, key), key)
    if question.values["detail"] == "brief":
        return story, StoryContext({})
    return story, question.surroundings_of(story, whole=question.values["detail"] == "whole")


def _merge_records(stories: list[tuple[Story, StoryContext]], *, several: bool) -> dict[str, Any]:
    *earlier, newest = (
        {
            **story_record(story, around.notes),
            "leftOut": around.left_out,
            **({"partition": story.partition} if several else {}),
        }
        for story, around in stories
    )
    return {**newest, "earlier": earlier} if several else newest


def answer_queues(question: Question) -> list[dict[str, Any]]:
    """List ClusterQueues: see ``tidegate show queues``."""
    lags_s = [lag_us(each.reader) // SECOND_US for each in question.by_partition()]
    with question.states() as states:
        parts = [_queues(each, state) for each, state in states]
    rows = list[dict[str, Any]]()
    for later_s, (queues, waiting, holding) in zip(lags_s, parts, strict=True):
        later = [{**row, "waited_s": row["waited_s"] + later_s} for row in waiting]
        rows += queue_summary_rows(queues, later, holding)
    return _merge_rows(question, rows, itemgetter("name"))


def _queues(question: Question, state: State) -> tuple[Any, Any, Any]:
    """Return a partition's ClusterQueues, their pending workloads, and how many have quota."""
    namespace = question.values["namespace"]
    visible = queues_of(state, namespace) if namespace else None
    waiting = question.pending_rows(state, visible)
    return queue_rows(state, visible), waiting, reserving_counts(state, visible)


def answer_positions(question: Question) -> list[dict[str, Any]]:
    """List the pending workloads: see ``tidegate show positions``."""
    lags_us = [lag_us(each.reader) for each in question.by_partition()]
    with question.states() as states:
        parts = [
            _positions(each, state, behind_us)
            for behind_us, (each, state) in zip(lags_us, states, strict=True)
        ]
    listed = list[dict[str, Any]]()
    for rows, play in parts:
        starts = play()
        listed += [with_start(row, starts) for row in rows]
    return _merge_rows(question, listed, itemgetter("clusterQueue"))


def _positions(question: Question, state: State, behind_us: int) -> tuple[Any, Any]:
    """Return the pending workloads of a partition, and a function that estimates their starts."""
    namespace, queue = question.values["namespace"], question.values["queue"]
    queues = {queue} if queue else queues_waited_for(state, namespace) if namespace else None
    rows = ranked_rows(question.pending_rows(state, queues), behind_us, AHEAD_MAX)
    rows = [row for row in rows if namespace in {"", row["namespace"]}]
    starts = question.partitions[0].starts
    return rows, starts.prepare(question.reader, state, startable_queues(rows))


def answer_tree(question: Question) -> list[dict[str, Any]]:
    """List the cohort trees' nodes: see ``tidegate show tree``."""
    with question.states() as states:
        return tree_rows(nodes_of_partitions([state for _, state in states], question.values["of"]))


def answer_shares(question: Question) -> list[dict[str, Any]]:
    """List the fair shares: see ``tidegate show shares``."""
    with question.states() as states:
        return share_rows(
            nodes_of_partitions([state for _, state in states], question.values["of"])
        )


def answer_usage(question: Question) -> list[dict[str, Any]]:
    """List the usage of quota: see ``tidegate show usage``; users only for callers who see all."""
    queue, everything = question.values["queue"], question.sight.everything
    all_set_by = [_quota_setters(each.reader) for each in question.by_partition()]
    records = list[dict[str, Any]]()
    with question.states() as states:
        for set_by, (_, state) in zip(all_set_by, states, strict=True):
            records += [
                usage_record(
                    row, row["users"] if everything else [], set_by.get(quota_key(row), "")
                )
                for row in usage_rows(state, queue)
            ]
    return _merge_rows(question, records, itemgetter("clusterQueue", "flavor", "resource"))


def _quota_setters(reader: Reader) -> dict[tuple[str, str, str], str]:
    assert reader.database is not None, "an archive is not served"
    return quota_setters(reader.database, reader.end, reader.partition)


def _merge_rows(
    question: Question, rows: list[dict[str, Any]], place: Callable[[dict[str, Any]], Any]
) -> list[dict[str, Any]]:
    """Return the rows of all partitions by their place; of one alone as they come."""
    return sorted(rows, key=place) if question.has_several_partitions else rows


def answer_reports(_asked: Question) -> list[dict[str, Any]]:
    """List the SQL reports."""
    return [
        {"name": name, "about": view.about, "byNamespace": name in BY_NAMESPACE}
        for name, view in TEXTS.items()
    ]


def answer_report(question: Question) -> list[dict[str, Any]]:
    """Return the rows of a SQL report: see ``tidegate report``."""
    name, namespace = question.values["report"], question.values["namespace"]
    if namespace and name in TEXTS and name not in BY_NAMESPACE:
        message = f"The report {name} sums what all namespaces have: ask for it without namespace."
        raise RefusalError(HTTPStatus.UNPROCESSABLE_ENTITY, message)
    return question.reader.report(name, {"namespace": namespace} if namespace else None)


def answer_events(question: Question) -> list[dict[str, Any]]:
    """Return events behind a position, or the newest: see ``tidegate events``."""
    limit = min(parse_whole(question.values["limit"]) or PAGE_ROWS // 10, PAGE_ROWS)
    selection, reader, after = (
        event_filter(question.values),
        question.reader,
        question.values["after"],
    )
    if not after:
        narrow = EntryFilter(frozenset(selection.types)) if {*selection.types} <= RARE else EVERY
        histories = (
            each.ledger.back(each.end, narrow=narrow) for each in reader.partition_readers()
        )
        looked = islice(merge(*histories, key=time_order_key, reverse=True), EVENTS_LOOKED_MAX)
        newest = list(islice(filter(selection.matches, looked), limit))
        return [event_record(entry) for entry in reversed(newest)]
    ends = {each.partition: each.end for each in reader.partition_readers()}
    begun = parse_position(after, ends)
    if begun is None:
        raise RefusalError(HTTPStatus.BAD_REQUEST, f"after {after[:32]!r} is no number.")
    events = islice(events_since(reader, begun, ends), EVENTS_LOOKED_MAX)
    matching = ((entry, position) for entry, position in events if selection.matches(entry))
    return [event_at(entry, position) for entry, position in islice(matching, limit)]


def events_since(reader: Reader, begun: dict[int, int], ends: Ends) -> Iterator[tuple[Entry, str]]:
    """Yield the events behind a position as one history, each with the position behind it.

    ``begun`` is moved on with each.
    """
    histories = (
        each.ledger.read(begun.get(each.partition, 0), ends.get(each.partition, 0))
        for each in reader.partition_readers()
    )
    for entry in merge_by_time(*histories):
        yield entry, advance(begun, entry)


def event_at(entry: Entry, position: str) -> dict[str, Any]:
    """Return an event for programs, with the position behind it where the seq does not say it."""
    fields = event_record(entry)
    return fields if position == str(entry.seq) else {**fields, "position": position}


def event_filter(values: Any) -> SubscriptionFilter:  # noqa: ANN401 - a mapping of texts
    """Return which events are wanted.

    Raises:
        UnknownNameError: there is no such type.
    """
    return SubscriptionFilter(event_types(values["type"]), values["queue"], values["namespace"])
