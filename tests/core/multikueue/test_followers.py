"""Groups of one object: which of them are looked at again when one is sent somewhere."""

from __future__ import annotations

import pytest

from tests.core.multikueue.stage import LWS, Stage
from tidegate.core.multikueue.nomination import reconcile_followers, reconcile_groups
from tidegate.model.multikueue import MultiKueuePolicy

FIRST, SECOND, THIRD = (f"team/train-{index}" for index in range(3))


@pytest.fixture
def stage() -> Stage:
    """Return a manager with three groups: two run on w2, and the third looks for a cluster."""
    made = Stage(MultiKueuePolicy(kinds=(LWS,)), ("w1", "w2"), second=False)
    made.do("connect w1 w2")
    made.do(f"submit {LWS} 3")
    for index in (0, 1):
        made.do(f"{index} copy w2 admitted=5")
        made.do(f"{index} copy w2 admitted=5 job")
    made.bus.state.workloads[THIRD].phase = "reserved"
    made.bus.state.forest.to_reconcile.clear()
    return made


def test_a_workload_that_follows_another_wakes_none(stage: Stage) -> None:
    """So n groups that go to one cluster cost n looks, and not n times n."""
    state = stage.bus.state
    reconcile_followers(state, state.workloads[SECOND])
    assert not state.forest.to_reconcile


def test_the_first_of_a_group_wakes_those_that_look_for_a_cluster_alone(stage: Stage) -> None:
    state = stage.bus.state
    first = state.workloads[FIRST].dispatch
    assert first is not None
    first.stopping_us = 1
    reconcile_followers(state, state.workloads[SECOND])
    assert list(state.forest.to_reconcile) == [THIRD]
    state.forest.to_reconcile.clear()
    reconcile_groups(state, state.workloads[FIRST])
    assert list(state.forest.to_reconcile) == [THIRD]
