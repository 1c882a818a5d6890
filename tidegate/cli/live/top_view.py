"""One frame of ``tidegate top``: queues, cohort trees, pending workloads, newest events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegate.cli.ledger.cohorts import nodes_of_partitions, tree_rows
from tidegate.cli.ledger.partitions import seq_text
from tidegate.cli.live.follow import FoldedEvent
from tidegate.cli.times import duration_text, utc
from tidegate.contracts.subjects import parse_event_subject
from tidegate.core.queueing.heads import queue_order_time
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import UNSATISFIED_CHECKS
from tidegate.model.policy import Policy
from tidegate.replay.queue_order import positions

EVENTS = 8
"""So many of the newest events are shown."""
WAITING = 10
"""So many of those that wait are shown."""
_SECOND_US = 1_000_000
_COLOURS = {"█": "green", "▒": "cyan", "░": "dim", "▓": "yellow"}


def top_frame(
    states: Sequence[State], newest: Sequence[FoldedEvent], subject: str = ""
) -> RenderableType:
    """Draw each partition's state and the newest events; ``subject``: a node to narrow it to."""
    placed = nodes_of_partitions(states, subject)
    queues = {placed_node.node.name for placed_node in placed if not placed_node.node.is_cohort}
    any_queue = queues if subject else {*queues, ""}  # some wait for no ClusterQueue that exists
    waiting = [workload for state in states for workload in _pending_workloads(state, any_queue)]
    waiting.sort(key=lambda workload: workload.cluster_queue)  # those of one stay in their order
    ledgers = ", ".join(f"{state.ledger_id}  seq {state.seq}" for state in states)
    now_us = max(state.now_us for state in states)
    title = f"Tidegate  ledger {ledgers}  {utc(now_us)}"
    return Group(
        Text(title, style="bold"),
        _queue_table(states, queues, waiting),
        _tree_table(tree_rows(placed)),
        _pending_table(states[0].policy, now_us, waiting),
        _event_table(newest, several=len(states) > 1),
    )


def _pending_workloads(state: State, queues: set[str]) -> list[Workload]:
    place = positions(state, queues)

    def order(workload: Workload) -> tuple[str, bool, bool, int, str]:
        at = place.get(workload.key)
        reserved = workload.phase == "reserved"
        return workload.cluster_queue, reserved, at is None, at or 0, workload.key

    waiting = (
        workload
        for workload in state.workloads.values()
        if workload.phase in {"pending", "reserved"} and workload.cluster_queue in queues
    )
    return sorted(waiting, key=order)


def _queue_table(states: Sequence[State], queues: set[str], waiting: Sequence[Workload]) -> Table:
    count = Counter[tuple[str, str]](
        (workload.cluster_queue, workload.phase)
        for state in states
        for workload in state.workloads.values()
    )
    heads = {workload.cluster_queue: workload for workload in reversed(waiting)}
    table = _empty_table("QUEUE", "PENDING", "RESERVED", "ADMITTED", "EVICTING", "HEAD", "REASON")
    for name in sorted(queues):
        head = heads.get(name)
        phases = ("pending", "reserved", "admitted", "evicting")
        counts = [str(count[name, phase]) for phase in phases]
        table.add_row(
            name, *counts, head.key if head else "-", _pending_reason(head) if head else "-"
        )
    return table


def _tree_table(rows: Sequence[dict[str, str | int]]) -> Table:
    table = _empty_table(
        "COHORTS", "FLAVOR", "RESOURCE", "QUOTA", "NOMINAL", "USED", "BORROWED", "LENT"
    )
    for row in rows:
        bar = Text()
        for char in str(row["bar"]):
            bar.append(char, style=_COLOURS.get(char, ""))
        fields = [str(row[name]) for name in ("nominal", "used", "borrowed", "lent")]
        name = "  " * int(row["depth"]) + str(row["name"])
        table.add_row(name, str(row["flavor"]), str(row["resource"]), bar, *fields)
    return table


def _pending_table(policy: Policy, now_us: int, waiting: Sequence[Workload]) -> Table:
    table = _empty_table("WAITING", "QUEUE", "PRIORITY", "WAITED", "REASON")
    for workload in waiting[:WAITING]:
        waited = duration_text(max(0, now_us - queue_order_time(policy, workload)) / _SECOND_US)
        queue = workload.cluster_queue or "-"
        table.add_row(
            workload.key, queue, str(workload.priority), waited, _pending_reason(workload)
        )
    if len(waiting) > WAITING:
        table.add_row(f"… {len(waiting) - WAITING} more", "", "", "", "")
    return table


def _event_table(newest: Sequence[FoldedEvent], *, several: bool) -> Table:
    table = _empty_table("SEQ", "AT", "EVENT", "QUEUE", "WORKLOAD")
    for entry, _ in newest[-EVENTS:]:
        queue, namespace, name = parse_event_subject(entry.subject)
        workload = f"{namespace}/{name}" if name else ""
        table.add_row(
            seq_text(entry, several=several), utc(entry.at_us), entry.type, queue, workload
        )
    return table


def _pending_reason(workload: Workload) -> str:
    if workload.phase == "reserved":
        return UNSATISFIED_CHECKS
    return workload.pending_status.reason if workload.pending_status is not None else "NotTried"


def _empty_table(*headings: str) -> Table:
    table = Table(*headings, box=None, pad_edge=False, header_style="bold", title_justify="left")
    for column in table.columns:
        column.no_wrap = True
    return table
