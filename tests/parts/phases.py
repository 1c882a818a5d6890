"""Phases as readers of events know them, to be compared with those of the core's state."""

from __future__ import annotations

from tidegate.contracts.facts import Event, WorkloadChanged, WorkloadSubmitted
from tidegate.contracts.phases import AnyPhase, phase_after
from tidegate.core.state.state import State


class Phases:
    """The phase of each workload that events have named."""

    def __init__(self) -> None:
        self._phases = dict[str, AnyPhase]()
        self._active = dict[str, bool]()

    def learn(self, event: Event) -> None:
        """Take in the next event of a ledger."""
        for key in {getattr(event, "workload", ""), getattr(event, "parent", "")} - {""}:
            phase, active = self._phases.get(key, "unknown"), self._active.get(key, True)
            self._phases[key] = phase_after(phase, event, key, was_active=active)
            if isinstance(event, WorkloadSubmitted | WorkloadChanged):
                self._active[key] = event.active

    def differing(self, state: State) -> dict[str, tuple[str, AnyPhase]]:
        """Return the workloads of which the core's phase is another, with both."""
        phases = {key: workload.phase for key, workload in state.workloads.items()}
        return {
            key: (phase, self._phases.get(key, "unknown"))
            for key, phase in phases.items()
            if self._phases.get(key, "unknown") != phase
        }
