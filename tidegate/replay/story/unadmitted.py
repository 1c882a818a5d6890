"""Sentences about jobs that run, or would, what nobody admitted."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts import facts

Differing: TypeAlias = facts.WorkloadMismatched | facts.StrayReported | facts.StrayCleared


def differing(event: Differing) -> str:
    """Say in what a job is not as it was admitted, or that it has no admission at all."""
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
