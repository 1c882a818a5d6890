"""Sentences about jobs that differ from their admission or have none, and about removals."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts import facts
from tidegate.model.ids import DECIDED_ELSEWHERE

Differing: TypeAlias = facts.WorkloadMismatched | facts.StrayReported | facts.StrayCleared


def difference_text(event: Differing) -> str:
    """Return how a job differs from its admission, or that it has none, as a sentence."""
    match event:
        case facts.WorkloadMismatched():
            if event.message:
                return f"Its job differs from its admission: {event.message}"
            return "Its job matches its admission again."
        case facts.StrayReported():
            stands = "is suspended" if event.state.suspended else "runs"
            message = f" {event.message}" if event.message else ""
            return f"Its job {stands} and must not run: {event.reason}.{message}"
        case facts.StrayCleared():
            return "Its job may run again, or is gone."
        case _:
            assert_never(event)


def removal_text(event: facts.WorkloadRemoved) -> str:
    """Return why a workload was removed."""
    if event.reason == DECIDED_ELSEWHERE:
        return "Removed: its queue leads to a ClusterQueue of another partition."
    return "Removed: its job is deleted or no longer managed."
