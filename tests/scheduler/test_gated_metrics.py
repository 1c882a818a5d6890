"""Metrics that a feature gate of Kueue opens."""

from __future__ import annotations

from msgspec.structs import replace

from tests.scheduler.metrics_story import World, queues
from tidegate.contracts import facts
from tidegate.core.folding.fold import apply


def test_the_tree_is_no_metric_while_the_gate_is_closed() -> None:
    world = World()
    world.happen(*queues())
    infos = {"kueue_cohort_info", "kueue_cluster_queue_info"}
    assert infos <= {family.name for family in world.registry.collect()}
    policy = replace(world.state.policy, gates={"MetricsForCohorts": False})
    apply(world.state, facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
    assert not infos & {family.name for family in world.registry.collect()}
