"""What-if: simulates a history under a changed configuration and under its own.

Both sides are simulated in virtual time, so that they can be compared; the recorded history is
measured besides. Without changes both sides are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent
from tidegate.core.folding.snapshot import decode as from_bytes
from tidegate.core.state.state import State
from tidegate.replay.aggregates import Aggregator
from tidegate.replay.figures import Figures, figures
from tidegate.replay.simulator.scenario import Scenario
from tidegate.replay.simulator.virtual import SimulatedCluster

Progress = Callable[[Iterator[int]], Iterator[int]]


class SimulationResult(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation, with all that a plot needs."""

    figures: Figures
    tally: Aggregator


def simulate(
    scenario: Scenario,
    progress: Progress = iter,
    listen: Callable[[FactEvent | DecisionEvent], None] | None = None,
) -> SimulationResult:
    """Simulate a scenario in virtual time.

    Args:
        scenario: the facts, and each job's run time.
        progress: wraps the iterator over the times that pass, to show progress.
        listen: called with each event, in order.
    """
    tally = Aggregator(scenario.from_us)
    tally.begin(from_bytes(scenario.start))

    def watch(event: FactEvent | DecisionEvent) -> None:
        tally.add_event(event)
        if listen is not None:
            listen(event)

    cluster = SimulatedCluster(scenario, scenario.facts, watch)
    for _ in progress(cluster.run()):
        pass
    to_us = scenario.to_us if scenario.to_us is not None else cluster.now_us
    return SimulationResult(figures=figures(tally, to_us), tally=tally)


def recorded_result(entries: Iterable[Entry], begun: State | None = None) -> SimulationResult:
    """Return the figures of a recorded history after the state ``begun``, which is only read."""
    state = State() if begun is None else begun
    at_us, tally = state.now_us, None if begun is None else _initial_tally(begun)
    for entry in entries:
        at_us = max(at_us, entry.at_us)
        tally = Aggregator(entry.at_us) if tally is None else tally
        tally.add_event(decode(entry.payload))
    tally = tally if tally is not None else Aggregator(at_us)
    return SimulationResult(figures=figures(tally, at_us), tally=tally)


def _initial_tally(state: State) -> Aggregator:
    tally = Aggregator(state.now_us)
    tally.begin(state)
    return tally
