"""Answers for the page's views and of the ledger: from the state, and a month's sums of tables."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from itertools import chain
from operator import itemgetter
from typing import Any

from store.archive.archive_ranges import archived_ranges
from tidegate.cli.commands.show.budgets import budget_meters, budget_record
from tidegate.cli.ledger.racks import Domain, TopologyView, node_state_texts, topology_views
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.times import utc
from tidegate.contracts.phases import HOLDING
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.model.quantity import format_quantity
from tidegate.replay.queue_order import workloads_at
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.costs import Span, cost_rows, quota_rows, span_of
from tidegate.serve.ledger.partitions.positions import position_text
from tidegate.serve.ledger.queueing import queues_of, workloads_of
from tidegate.serve.refusals import RefusalError

TEXT_CHARS_MIN = 2
_SNAPSHOT = "SELECT max(seq) FROM ledger_snapshot WHERE partition = :partition"
_SUMS = ("headSeq", "turns", "archivedSeq", "verifiedSeq")


def answer_running(question: Question) -> list[dict[str, Any]]:
    """List the workloads with quota, by ClusterQueue, and since when they have it."""
    queue, namespace = question.values["queue"], question.values["namespace"]
    with question.states() as states:
        for _, state in states:
            forest(state)  # charges are derived
        rows = [
            _running_row(workload)
            for _, state in states
            for workload in (
                workloads_at(state, {queue}) if queue else workloads_of(state, namespace)
            )
            if workload.phase in HOLDING
            and queue in {"", workload.cluster_queue}
            and namespace in {"", workload.key.partition("/")[0]}
        ]
    return sorted(rows, key=lambda row: (row["clusterQueue"], row["since"], row["workload"]))


def answer_costs(question: Question) -> list[dict[str, Any]]:
    """List what each namespace's workloads used in a month, and what that cost."""
    span, namespace = _span_of(question), question.values["namespace"]
    key = "costs", span, namespace
    rows = question.sums.get_or_make(key, lambda: cost_rows(question.reader, span, namespace))
    return [_camel(row, span) for row in rows]


def answer_quota_use(question: Question) -> list[dict[str, Any]]:
    """List what each ClusterQueue had in a month, used, borrowed and left unused."""
    span = _span_of(question)
    rows = question.sums.get_or_make(("quota", span), lambda: quota_rows(question.reader, span))
    return [_camel(row, span) for row in rows]


def answer_budgets(question: Question) -> list[dict[str, Any]]:
    """List the budgets: see ``tidegate show budgets``."""
    lags_us = [lag_us(each.reader) for each in question.by_partition()]
    rows = list[dict[str, Any]]()
    with question.states() as states:
        for behind_us, (_, state) in zip(lags_us, states, strict=True):
            now_us = state.now_us + behind_us
            rows += (
                budget_record(owner, meter, now_us) for owner, meter in budget_meters(state, now_us)
            )
    return sorted(rows, key=itemgetter("owner")) if question.has_several_partitions else rows


def answer_topology(question: Question) -> list[dict[str, Any]]:
    """List the domains of topologies from the top, with what is used of each.

    Of several partitions the first one's: partition 0 alone places pods.
    """
    with question.by_partition()[0].state() as state:
        return [
            row
            for topology in topology_views(state, question.values["of"])
            for row in _topology_rows(topology)
        ]


def answer_search(question: Question) -> list[dict[str, Any]]:
    """List what has a text in its name, queues before workloads."""
    text, namespace = question.values["text"].lower(), question.values["namespace"]
    if len(text) < TEXT_CHARS_MIN:
        message = f"text= needs at least {TEXT_CHARS_MIN} characters."
        raise RefusalError(HTTPStatus.BAD_REQUEST, message)
    with question.states() as states:
        hits = chain(
            *(_matching_queues(state, namespace) for _, state in states),
            *(_matching_workloads(state, namespace) for _, state in states),
        )
        named = [hit for hit in hits if text in hit["name"].lower()]
    # All partitions know all LocalQueues, and a job that changes the partition is in both.
    return list(
        {(hit["kind"], hit["namespace"], hit["name"]): hit for hit in named[::-1]}.values()
    )[::-1]


def _running_row(workload: Workload) -> dict[str, Any]:
    amounts = dict[str, dict[str, str]]()
    for (flavor, resource), units in sorted(workload.charges):
        amounts.setdefault(flavor, {})[resource] = format_quantity(resource, units)
    return {
        "workload": workload.key,
        "namespace": workload.key.partition("/")[0],
        "clusterQueue": workload.cluster_queue,
        "localQueue": workload.queue,
        "author": workload.author,
        "priority": workload.priority,
        "phase": workload.phase,
        "since": utc(workload.reserved_us),
        "amounts": amounts,
    }


def _span_of(question: Question) -> Span:
    newest = (
        next(iter(each.ledger.back(each.end, 1)), None)
        for each in question.reader.partition_readers()
    )
    newest_us = max((entry.at_us for entry in newest if entry is not None), default=0)
    try:
        return span_of(question.values["month"], newest_us)
    except ValueError as error:
        message = f"month {question.values['month'][:32]!r} is no month: write 2026-03."
        raise RefusalError(HTTPStatus.BAD_REQUEST, message) from error


def _camel(row: dict[str, Any], span: Span) -> dict[str, Any]:
    camel = {"".join(_name_parts(name)): value for name, value in row.items()}
    return {**camel, "until": utc(span.until_us)}


def _name_parts(name: str) -> Iterator[str]:
    first, *more = name.split("_")
    yield first
    yield from (word.title() for word in more)


def _topology_rows(topology: TopologyView) -> Iterator[dict[str, Any]]:
    resource = topology.resource  # it is derived from all of them
    for domain in topology.domains:
        yield from _domain_rows(topology, resource, domain, 0)


def _domain_rows(
    topology: TopologyView, resource: str, domain: Domain, depth: int
) -> Iterator[dict[str, Any]]:
    total, used = domain.allocatable.get(resource, 0), domain.used(resource)
    yield {
        "topology": topology.topology,
        "flavor": topology.flavor,
        "depth": depth,
        "name": domain.name,
        "level": domain.level,
        "nodes": domain.nodes,
        "resource": resource,
        "used": format_quantity(resource, used),
        "allocatable": format_quantity(resource, total),
        "share": min(1.0, used / total) if total else 0.0,
        "others": min(1.0, domain.others.get(resource, 0) / total) if total else 0.0,
        "state": ", ".join(node_state_texts(domain)),
        "workloads": domain.workloads,
    }
    for child in domain.children:
        yield from _domain_rows(topology, resource, child, depth + 1)


def _matching_queues(state: State, namespace: str) -> Iterator[dict[str, Any]]:
    visible = queues_of(state, namespace)
    definitions = state.objects.cluster_queues
    for name in sorted(definitions.keys() & visible if namespace else definitions):
        yield _search_hit("ClusterQueue", name, "", definitions[name].spec.cohort)
    if not namespace:
        yield from (_search_hit("Cohort", name, "", "") for name in sorted(forest(state).cohorts))
    for local in state.objects.local_queues.values():
        if namespace in {"", local.namespace}:
            yield _search_hit("LocalQueue", local.name, local.namespace, local.spec.cluster_queue)


def _matching_workloads(state: State, namespace: str) -> Iterator[dict[str, Any]]:
    for workload in workloads_of(state, namespace):
        place, _, name = workload.key.partition("/")
        yield _search_hit("Workload", name, place, workload.phase)


def _search_hit(kind: str, name: str, namespace: str, about: str) -> dict[str, Any]:
    return {"kind": kind, "name": name, "namespace": namespace, "about": about}


def answer_ledger(question: Question) -> dict[str, Any]:
    """Tell which ledger it is, and how far it got."""
    if not question.has_several_partitions:
        return _partition_ledger(question)
    each: list[dict[str, Any]] = [
        {"partition": own.reader.partition, **_partition_ledger(own)}
        for own in question.by_partition()
    ]
    first = each[0]
    heads = [part["headAt"] for part in each if part["headAt"]]
    return {
        "ledgerId": ",".join(part["ledgerId"] for part in each),
        "cluster": first["cluster"],
        "software": first["software"],
        **{name: sum(part[name] for part in each) for name in _SUMS},
        "headHash": "",
        "headAt": max(heads, default=None),
        "snapshotSeq": None,
        "brokenSeq": next((part["brokenSeq"] for part in each if part["brokenSeq"]), None),
        "position": position_text({part["partition"]: part["headSeq"] for part in each}),
        "firstAt": _first_at(question),
        "partitions": each,
    }


def _partition_ledger(question: Question) -> dict[str, Any]:
    reader, live = question.reader, question.partitions[0].live
    assert reader.database is not None, "an archive is not served"
    select = reader.database.select
    head = next(iter(reader.ledger.back(reader.end, 1)), None)
    return {
        **live.identity,
        "headSeq": 0 if head is None else head.seq,
        "headHash": "" if head is None else head.hash.hex(),
        "headAt": None if head is None else utc(head.at_us),
        "turns": 0 if head is None else head.turn,
        "archivedSeq": max(
            (part.seq for part in archived_ranges(select, reader.partition)), default=0
        ),
        "snapshotSeq": select(_SNAPSHOT, partition=reader.partition)[0][0],
        "verifiedSeq": live.verified_seq,
        "brokenSeq": live.broken_seq or None,
    }


def _first_at(question: Question) -> str | None:
    """Return when the first event of all partitions came."""
    firsts = (
        entry.at_us for own in question.by_partition() for entry in own.reader.ledger.read(0, 1)
    )
    at_us = min(firsts, default=None)
    return None if at_us is None else utc(at_us)
