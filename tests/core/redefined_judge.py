"""The slow way judges the fast one where definitions change: what a change leaves equal is kept.

``python -m tests.core.redefined_judge --seeds N``: scenarios of ``tests.core.judge`` with several
cohort trees, in which queues, cohorts, flavors and checks are redefined, made and removed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from random import Random

from msgspec.structs import replace

from bench.real.redefining import scaled
from tests.core.judge import Way, judge, played, wide
from tests.differential.random_scenarios import scenario
from tests.differential.scenarios import Scenario
from tests.differential.world import World
from tidegate.contracts import facts
from tidegate.contracts.facts import FactEvent
from tidegate.model.podset import LabelSelector
from tidegate.model.quota import (
    CheckRule,
    ClusterQueueSpec,
    CohortSpec,
    FlavorSpec,
    Preemption,
)

CHECK = "ready-made"
WEIGHT_ONE = 1_000_000_000


def journal(seed: int, way: Way, mode: str = "tidegate") -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    return played(seed, apart(seed), way, mode, _redefinitions)


def apart(seed: int) -> Scenario:
    """Draw a scenario with several cohort trees."""
    rng, drawn = Random(f"{seed}/apart"), wide(seed) if seed % 2 else scenario(seed)
    for queue in drawn.input["clusterQueues"]:
        if "cohortName" in queue["spec"] and rng.random() < 0.4:
            queue["spec"]["cohortName"] = rng.choice(("beside", "apart"))
        if rng.random() < 0.7:
            rules = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
            queue["spec"]["preemption"] = rules
    return drawn


def _redefinitions(rng: Random, world: World) -> list[FactEvent]:
    return [redefinition(rng, world) for _ in range(rng.randint(1, 3))]


def redefinition(rng: Random, world: World) -> FactEvent:
    """Draw a change of one definition, which may change nothing."""
    alone = not world.state.objects.cluster_queues
    return (_unrelated if alone else rng.choice(_DRAWS))(rng, world)


def _queue(rng: Random, world: World) -> FactEvent:
    """Change one rule of a ClusterQueue, or nothing."""
    defined = rng.choice(list(world.state.objects.cluster_queues.values()))
    return replace(defined, at_us=world.now_us, spec=_changed(rng, defined.spec))


def _changed(rng: Random, spec: ClusterQueueSpec) -> ClusterQueueSpec:
    changes: list[Callable[[], ClusterQueueSpec]] = [
        lambda: spec,
        lambda: replace(spec, stop_policy=rng.choice(("None", "None", "Hold", "HoldAndDrain"))),
        lambda: replace(spec, strategy=rng.choice(("StrictFIFO", "BestEffortFIFO"))),
        lambda: replace(spec, weight=rng.choice((0, 1, 2)) * WEIGHT_ONE),
        lambda: replace(spec, preemption=_preemption(rng)),
        lambda: replace(spec, min_runtime_us=rng.choice((0, 1, 10**12))),
        lambda: replace(spec, checks=rng.choice(((), (CheckRule(name=CHECK),)))),
        lambda: replace(spec, namespace_selector=rng.choice((None, LabelSelector()))),
        lambda: replace(spec, cohort=rng.choice(("", "beside", "apart", spec.cohort))),
        lambda: scaled(spec, rng.choice((50, 100, 150))),
    ]
    return rng.choice(changes)()


def _preemption(rng: Random) -> Preemption:
    return Preemption(
        within_cluster_queue=rng.choice(("Never", "LowerPriority")),
        reclaim_within_cohort=rng.choice(("Never", "LowerPriority", "Any")),
    )


def _new_queue(rng: Random, world: World) -> FactEvent:
    defined = rng.choice(list(world.state.objects.cluster_queues.values()))
    spec = replace(defined.spec, cohort=rng.choice(("", "", "beside", defined.spec.cohort)))
    name = f"new-{rng.randint(0, 2)}"
    return replace(defined, at_us=world.now_us, name=name, spec=spec)


def _removed_queue(rng: Random, world: World) -> FactEvent:
    name = rng.choice([*world.state.objects.cluster_queues, "new-0", "new-1"])
    if name not in world.state.objects.cluster_queues or rng.random() < 0.5:
        return _queue(rng, world)
    return facts.ClusterQueueRemoved(at_us=world.now_us, name=name)


def _cohort(rng: Random, world: World) -> FactEvent:
    name = rng.choice(("beside", "apart", "org", "nowhere"))
    if name in world.state.objects.cohorts and rng.random() < 0.3:
        return facts.CohortRemoved(at_us=world.now_us, name=name)
    parent = rng.choice(("", "", "beside", "above"))
    weight = rng.choice((1, 1, 2)) * WEIGHT_ONE
    lent = rng.choice(list(world.state.objects.cluster_queues.values())).spec.groups
    groups = rng.choice(((), (), lent))
    spec = CohortSpec(parent="" if parent == name else parent, weight=weight, groups=groups)
    return facts.CohortDefined(at_us=world.now_us, name=name, spec=spec)


def _flavor(rng: Random, world: World) -> FactEvent:
    flavors = world.state.objects.flavors
    name = rng.choice([*flavors, "unused"])
    if name in flavors and rng.random() < 0.3:
        return facts.FlavorRemoved(at_us=world.now_us, name=name)
    spec = FlavorSpec(node_labels=rng.choice(({}, {"zone": "a"})))
    return facts.FlavorDefined(at_us=world.now_us, name=name, spec=spec)


def _check(rng: Random, world: World) -> FactEvent:
    active = rng.random() < 0.7
    return facts.CheckDefined(at_us=world.now_us, name=CHECK, controller="a/b", active=active)


def _unrelated(rng: Random, world: World) -> FactEvent:
    """Define what no workload needs: all trees stay as they are."""
    spec = FlavorSpec(node_labels={"draw": str(rng.random())})
    return facts.FlavorDefined(at_us=world.now_us, name="needless", spec=spec)


_DRAWS = (
    _queue,
    _queue,
    _queue,
    _new_queue,
    _removed_queue,
    _cohort,
    _flavor,
    _check,
    *(_unrelated for _ in range(4)),
)


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.redefined_judge", __doc__, journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
