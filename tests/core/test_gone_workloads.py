"""Nothing of a workload that is gone stays in the state, however many come and go."""

from __future__ import annotations

import pytest

from tests.core.topology.cluster import Cluster
from tests.parts.growth import entries
from tidegate.contracts import facts
from tidegate.core.decide import decide
from tidegate.model.topology import HOSTNAME

LIMITS = (
    "tidegate.core.state.state.CACHED_MAX",
    "tidegate.core.state.scheduling_queue.EMPTY_SHAPES_MAX",
    "tidegate.core.queueing.heads.OUTDATED_MAX",
    "tidegate.core.nomination.watches._STALE_MAX",
    "tidegate.core.topology.place.SHAPES_MIN",
    "tidegate.core.topology.place.DOMAINS_MAX",
    "tidegate.core.topology.evictable._MOVES_MAX",
    "tidegate.core.topology.fitting.tree._LOG_MIN",
)
REMAINDER_MAX = 12
"""What all these limits and a few numbers of the newest entry come to together."""
FITTING, TOO_LARGE = "1{}m", "1{}"


@pytest.mark.parametrize("topology", [False, True])
@pytest.mark.parametrize(
    ("cpu", "ends"), [(FITTING, True), (FITTING, False), (TOO_LARGE, False)], ids=str
)
def test_a_state_does_not_grow_by_workloads_that_are_gone(
    monkeypatch: pytest.MonkeyPatch, cpu: str, *, ends: bool, topology: bool
) -> None:
    for limit in LIMITS:
        monkeypatch.setattr(limit, 1, raising=False)
    cluster = Cluster(nodes=2, topology=topology)
    for number in range(100, 150):
        _come_and_go(cluster, number, cpu, ends=ends)
    before = entries(cluster.state)
    for number in range(150, 250):
        _come_and_go(cluster, number, cpu, ends=ends)
    after = entries(cluster.state)
    grown = {place: count - before.get(place, 0) for place, count in after.items()}
    assert {place: count for place, count in grown.items() if count > REMAINDER_MAX} == {}


def _come_and_go(cluster: Cluster, number: int, cpu: str, *, ends: bool) -> None:
    """Let a workload come that no other is like, and go, maybe after its end."""
    name = f"job-{number}"
    cluster.job(name, 1, HOSTNAME, priority=number, requests={"cpu": cpu.format(number)})
    decide(cluster.state)
    if ends:
        cluster.finish(name)
        decide(cluster.state)
    key = f"n/{name}"
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload=key, uid=name, version=number))
    decide(cluster.state)
