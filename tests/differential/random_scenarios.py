"""Random scenarios, each from one seed, that try to make preemption run in circles.

Few flavors, tight quotas, many policies: what made Kueue loop in the recorded scenarios. A seed
gives the same scenario everywhere; the actions of those that are drawn from nothing follow the
world's own state as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.cases import Json
from tests.conformance.report import Outcome, differences_of
from tests.differential.drawing import (
    PRIORITIES,
    STRATEGIES,
    cohorts,
    group,
    queue,
    workload,
)
from tests.differential.mutations import mutated
from tests.differential.play import Verdict, run_step, termination
from tests.differential.scenarios import Scenario
from tests.differential.world import World

_HOLDING = ("reserved", "admitted")


def scenario(seed: int) -> Scenario:
    """Return the objects of one scenario; its steps are drawn while it is played."""
    rng = Random(seed)
    flavors = [f"f{index}" for index in range(rng.choice((1, 1, 2, 2, 3)))]
    resources = ["cpu"] if rng.random() < 0.7 else ["cpu", "memory"]
    pools = cohorts(rng, flavors, resources)
    names = [f"cq-{index}" for index in range(rng.randint(2, 6))]
    parents = [pool["name"] for pool in pools] or ([""] if rng.random() < 0.1 else ["pool"])
    queues = [
        {"name": name, "spec": queue(rng, rng.choice(parents), flavors, resources)}
        for name in names
    ]
    workloads = [workload(rng, index, names, resources) for index in range(rng.randint(6, 24))]
    given = {
        "resourceFlavors": [{"name": name, "spec": {}} for name in flavors],
        "cohorts": pools,
        "clusterQueues": queues,
        "localQueues": [{"name": f"lq-{name}", "clusterQueue": name} for name in names],
        "workloads": workloads,
    }
    return Scenario(id=f"random/{seed}", config=_config(rng), input=given, steps=[])


def play_random(seed: int, mode: str) -> tuple[World, Verdict]:
    """Play one seed; every step must settle with the property of ``termination``.

    Even seeds are drawn from nothing, odd ones are recorded scenarios with changes.
    """
    return _play_mutated(seed, mode) if seed % 2 else _play_drawn(seed, mode)


def _play_mutated(seed: int, mode: str) -> tuple[World, Verdict]:
    actual_scenario = mutated(seed)
    world = World(actual_scenario, mode)
    for number, step in enumerate(actual_scenario.steps):
        verdict = termination(world, run_step(world, number, step["actions"]))
        if verdict.differences:
            return world, verdict
    return world, Verdict()


def _play_drawn(seed: int, mode: str) -> tuple[World, Verdict]:
    actual_scenario = scenario(seed)
    world = World(actual_scenario, mode)
    rng = Random(f"{seed}/actions")
    fresh = [
        candidate_workload["name"] for candidate_workload in actual_scenario.input["workloads"]
    ]
    for number in range(rng.randint(2, 5)):
        verdict = termination(world, run_step(world, number, actions(rng, world, fresh)))
        if verdict.differences:
            return world, verdict
    return world, Verdict()


def try_seeds(
    first: int, count: int, mode: str, progress: Callable[[int, int], None] | None = None
) -> Outcome:
    """Play seeds in turn and tell which broke the property."""
    outcome = Outcome("random")
    for done, seed in enumerate(range(first, first + count), 1):
        lines = differences_of(lambda number: play_random(number, mode)[1].lines(), seed)
        if lines:
            outcome.failed[f"random/{seed}"] = lines
        else:
            outcome.passed.append(f"random/{seed}")
        if progress is not None and (done % 50 == 0 or done == count):
            progress(done, count)
    return outcome


def _config(rng: Random) -> Json:
    if rng.random() < 0.5:
        return {}
    strategies = rng.choice((STRATEGIES, STRATEGIES, STRATEGIES[:1], STRATEGIES[1:]))
    return {"fairSharing": {"preemptionStrategies": list(strategies)}}


def actions(rng: Random, world: World, fresh: list[str]) -> list[Json]:
    """Draw a step's actions: some arrive, some that run end, now and then a quota moves."""
    running = [
        candidate_workload.job.name
        for candidate_workload in world.state.workloads.values()
        if candidate_workload.phase in _HOLDING
    ]
    ending = rng.sample(running, rng.randint(0, min(2, len(running))))
    actions = [_ending(rng, name) for name in ending]
    waiting = [
        candidate_workload.job.name
        for candidate_workload in world.state.workloads.values()
        if candidate_workload.phase == "pending"
    ]
    if waiting and rng.random() < 0.2:
        chosen = rng.choice(waiting)
        priority = rng.choice(PRIORITIES)
        actions.append({"op": "setPriority", "workload": chosen, "priority": priority})
    if rng.random() < 0.2:
        actions.append(_requota(rng, world))
    count = min(len(fresh), rng.randint(3, 10))
    arriving = [fresh.pop(0) for _ in range(count)]
    return [*actions, {"op": "create", "workloads": arriving}]


def _ending(rng: Random, name: str) -> Json:
    return {"op": rng.choice(("finish", "finish", "delete")), "workload": name}


def _requota(rng: Random, world: World) -> Json:
    queues: list[dict[str, Any]] = world.scenario.input["clusterQueues"]
    obj = rng.choice(queues)
    spec = dict(obj["spec"])
    was = spec["resourceGroups"][0]
    names = [flavor["name"] for flavor in was["flavors"]]
    limits = "cohortName" in spec
    spec["resourceGroups"] = [group(rng, names, was["coveredResources"], limits=limits)]
    return {"op": "updateClusterQueue", "clusterQueue": obj["name"], "spec": spec}
