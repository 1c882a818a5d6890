"""The live table of the demo and of ``tidegate up``: quota bars, and the last events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegate.cli.live.follow import FoldedEvent
from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import type_name
from tidegate.core.queueing.usage import QueueUsage, queue_usage
from tidegate.core.state.state import State
from tidegate.model.quantity import format_quantity
from tidegate.model.quota import quotas_of

BAR_CELLS = 20
EVENTS_SHOWN = 8
SHOWN = (
    decisions.WorkloadAdmitted,
    decisions.WorkloadPreempted,
    decisions.PreemptionIntended,
    decisions.WorkloadRequeued,
    decisions.WorkloadPending,
    decisions.OrderReissued,
    facts.WorkloadFinished,
    facts.ActuationFailed,
    facts.ObservationRefused,
)
STYLES = {
    "WorkloadAdmitted": "green",
    "WorkloadFinished": "cyan",
    "WorkloadPreempted": "magenta",
    "PreemptionIntended": "magenta",
    "ActuationFailed": "red",
    "ObservationRefused": "red",
}


class LiveTable:
    """Remembers the last events worth showing; ``render`` makes the picture of a state."""

    def __init__(self) -> None:
        self._recent: deque[Text] = deque(maxlen=EVENTS_SHOWN)

    def add_events(self, rows: list[FoldedEvent]) -> None:
        """Note new entries of the ledger."""
        self._recent.extend(event_lines(rows))

    def render(self, state: State) -> RenderableType:
        """Return the queues of a state as a table, with the last events below it."""
        return Group(_queue_table(state), Text(), *self._recent)


def event_lines(rows: list[FoldedEvent]) -> Iterator[Text]:
    """Yield one coloured line for each event of the types in ``SHOWN``."""
    for entry, event in rows:
        if isinstance(event, SHOWN):
            name = type_name(event)
            seq = Text(f"{entry.seq:>7} ", "dim")
            yield seq + Text(f"{name:<20}", STYLES.get(name, "yellow")) + Text(_event_text(event))


def _queue_table(state: State) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("queue", "cohort"):
        table.add_column(column, no_wrap=True)
    for column in ("pending", "admitted"):
        table.add_column(column, justify="right")
    for column in ("quota in use", "", "borrowed"):
        table.add_column(column, no_wrap=True)
    for name, defined in sorted(state.objects.cluster_queues.items()):
        usage = queue_usage(state, name)
        pending, admitted = str(usage.pending), str(usage.reserving)
        bars = _quota_cells(state, name, usage)
        table.add_row(name, defined.spec.cohort or "-", pending, admitted, *bars)
    return table


def _quota_cells(state: State, name: str, usage: QueueUsage) -> tuple[RenderableType, ...]:
    bars, figures, borrowed = Text(), Text(), Text()
    for fr, quota in quotas_of(state.objects.cluster_queues[name].spec.groups):
        used, lent = usage.reserved.get(fr, 0), usage.borrowed.get(fr, 0)
        separator, resource = "\n" if len(bars) else "", fr.resource
        bars.append(separator).append(_quota_bar(used, lent, quota.nominal))
        share = f"{format_quantity(resource, used)}/{format_quantity(resource, quota.nominal)}"
        figures.append(f"{separator}{share} {resource}")
        borrowed.append(separator + (format_quantity(resource, lent) if lent else "-"), "magenta")
    return bars, figures, borrowed


def _quota_bar(used: int, borrowed: int, nominal: int) -> Text:
    whole = max(nominal, used, 1)
    own = (used - borrowed) * BAR_CELLS // whole
    more = used * BAR_CELLS // whole - own
    bar = Text("█" * own, "green") + Text("█" * more, "magenta")
    return bar + Text("░" * (BAR_CELLS - own - more), "dim")


def _event_text(event: facts.FactEvent | decisions.DecisionEvent) -> str:
    match event:
        case decisions.WorkloadAdmitted():
            return f"{event.workload} in {event.cluster_queue} after {event.waited_us / 1e6:.1f} s"
        case decisions.WorkloadPending():
            return f"{event.workload}: {event.message or event.reason}"
        case decisions.WorkloadPreempted():
            return f"{event.workload} for {event.by} ({event.reason})"
        case decisions.PreemptionIntended():
            return f"{event.workload} waits for {len(event.victims)} to leave"
        case facts.ObservationRefused():
            return f"{event.subject}: {event.error}"
        case facts.WorkloadFinished() | facts.ActuationFailed():
            return f"{event.workload} {event.reason}"
        case _:
            return str(getattr(event, "workload", ""))
