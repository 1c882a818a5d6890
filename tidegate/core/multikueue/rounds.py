"""What time alone makes follow for workloads on worker clusters; see ``fold.FAMILY``."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.multikueue.dispatch import dispatch
from tidegate.core.multikueue.fold import FAMILY
from tidegate.core.state import deadlines
from tidegate.core.state.state import State


def next_rounds(state: State) -> Iterator[list[DecisionEvent]]:
    """Yield what follows for each workload whose round is over, or whose cluster is lost."""
    for key in deadlines.due(state, FAMILY):
        workload = state.workloads.get(key)
        if workload is not None and (results := dispatch(state, workload)):
            yield results
