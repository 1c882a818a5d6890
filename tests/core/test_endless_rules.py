"""A rule whose decision does not end its condition is named, in place of a turn without an end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.core.test_cycle_rules import arrive, cohort
from tidegate.contracts.decisions import DecisionEvent, WorkloadDeactivated
from tidegate.core import decide as rules
from tidegate.core.state.state import State, decision_fields


def deactivate_again(state: State) -> Iterator[list[DecisionEvent]]:
    for workload in list(state.workloads.values()):
        yield [WorkloadDeactivated(**decision_fields(state, workload), reason="Endless")]


def test_rules_that_do_not_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cohort(fair=False, queues=1)
    arrive(cluster, "waits", 0, 5)
    monkeypatch.setattr(rules, "RULES", (*rules.RULES, deactivate_again))
    with pytest.raises(AssertionError, match=r"do not end; the last decision: .*Endless"):
        rules.decide(cluster.state)
