"""Random scenarios, each from one seed, that try to make preemption run in circles.

Few flavors, tight quotas, many policies: what made Kueue loop in the recorded scenarios. A seed
gives the same scenario everywhere; actions are drawn from the world's own state as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.cases import Json
from tests.conformance.report import Outcome, differences_of
from tests.differential.play import Verdict, run_step, termination
from tests.differential.scenarios import Scenario
from tests.differential.world import World

_STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
_PRIORITIES = (-50, 100, 100, 500, 1000)
_HOLDING = ("reserved", "admitted")


def scenario(seed: int) -> Scenario:
    """Return the objects of one scenario; its steps are drawn while it is played."""
    rng = Random(seed)
    flavors = [f"f{index}" for index in range(rng.choice((1, 1, 2, 2, 3)))]
    resources = ["cpu"] if rng.random() < 0.7 else ["cpu", "memory"]
    cohorts = _cohorts(rng, flavors, resources)
    names = [f"cq-{index}" for index in range(rng.randint(2, 6))]
    parents = [one["name"] for one in cohorts] or ([""] if rng.random() < 0.1 else ["pool"])
    queues = [
        {"name": name, "spec": _queue(rng, rng.choice(parents), flavors, resources)}
        for name in names
    ]
    workloads = [_workload(rng, index, names, resources) for index in range(rng.randint(6, 24))]
    given = {
        "resourceFlavors": [{"name": name, "spec": {}} for name in flavors],
        "cohorts": cohorts,
        "clusterQueues": queues,
        "localQueues": [{"name": f"lq-{name}", "clusterQueue": name} for name in names],
        "workloads": workloads,
    }
    return Scenario(id=f"random/{seed}", config=_config(rng), input=given, steps=[])


def play_random(seed: int, mode: str) -> tuple[World, Verdict]:
    """Play one seed; every step must settle with the property of ``termination``."""
    told = scenario(seed)
    world = World(told, mode)
    rng = Random(f"{seed}/actions")
    fresh = [one["name"] for one in told.input["workloads"]]
    for number in range(rng.randint(2, 5)):
        step = run_step(world, number, _actions(rng, world, fresh))
        verdict = termination(world, step)
        if verdict.differences:
            return world, verdict
    return world, Verdict()


def try_seeds(
    first: int, count: int, mode: str, progress: Callable[[int, int], None] | None = None
) -> Outcome:
    """Play seeds in turn and tell which broke the property."""
    outcome = Outcome("random")
    for done, seed in enumerate(range(first, first + count), 1):
        lines = differences_of(lambda one: play_random(one, mode)[1].lines(), seed)
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
    strategies = rng.choice((_STRATEGIES, _STRATEGIES, _STRATEGIES[:1], _STRATEGIES[1:]))
    return {"fairSharing": {"preemptionStrategies": list(strategies)}}


def _cohorts(rng: Random, flavors: list[str], resources: list[str]) -> list[Json]:
    if rng.random() < 0.4:
        return []
    names = ["root", *(f"org-{index}" for index in range(rng.randint(0, 3)))]
    cohorts: list[Json] = []
    for index, name in enumerate(names):
        spec: Json = {"fairSharing": {"weight": rng.choice(("1", "1", "2", "0.5"))}}
        if index:
            spec["parentName"] = rng.choice(names[:index])
        if rng.random() < 0.4:
            spec["resourceGroups"] = [_group(rng, flavors, resources, limits=index > 0)]
        cohorts.append({"name": name, "spec": spec})
    return cohorts


def _queue(rng: Random, cohort: str, flavors: list[str], resources: list[str]) -> Json:
    spec: Json = {
        "queueingStrategy": rng.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "resourceGroups": [_group(rng, flavors, resources, limits=bool(cohort))],
        "preemption": _preemption(rng, cohort),
        "flavorFungibility": _fungibility(rng),
        "fairSharing": {"weight": rng.choice(("1", "1", "1", "2", "4", "0.5", "0"))},
    }
    if cohort:
        spec["cohortName"] = cohort
    return spec


def _group(rng: Random, flavors: list[str], resources: list[str], *, limits: bool) -> Json:
    chosen = rng.sample(flavors, rng.randint(1, len(flavors)))
    return {
        "coveredResources": resources,
        "flavors": [
            {"name": name, "resources": [_quota(rng, one, limits=limits) for one in resources]}
            for name in chosen
        ],
    }


def _quota(rng: Random, resource: str, *, limits: bool) -> Json:
    unit = "" if resource == "cpu" else "Gi"
    told: Json = {"name": resource, "nominalQuota": f"{rng.choice((0, 2, 3, 4, 4, 6))}{unit}"}
    if limits and rng.random() < 0.3:
        told["borrowingLimit"] = f"{rng.choice((0, 2, 4, 8))}{unit}"
    if limits and rng.random() < 0.3:
        told["lendingLimit"] = f"{rng.choice((0, 2, 4))}{unit}"
    return told


def _preemption(rng: Random, cohort: str) -> Json:
    told: Json = {
        "withinClusterQueue": rng.choice(
            ("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")
        ),
        "reclaimWithinCohort": rng.choice(("Never", "LowerPriority", "Any", "Any")),
    }
    if cohort and told["reclaimWithinCohort"] != "Never" and rng.random() < 0.4:
        told["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if rng.random() < 0.5:
            told["borrowWithinCohort"]["maxPriorityThreshold"] = rng.choice((99, 100, 500))
    return told


def _fungibility(rng: Random) -> Json:
    told: Json = {
        "whenCanBorrow": rng.choice(("MayStopSearch", "TryNextFlavor")),
        "whenCanPreempt": rng.choice(("MayStopSearch", "TryNextFlavor")),
    }
    if rng.random() < 0.3:
        told["preference"] = rng.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
    return told


def _workload(rng: Random, index: int, queues: list[str], resources: list[str]) -> Json:
    podsets = [_podset(rng, "main", resources)]
    if rng.random() < 0.15:
        podsets.append(_podset(rng, "extra", resources))
    elif podsets[0]["count"] > 1 and rng.random() < 0.5:
        podsets[0]["minCount"] = rng.randint(1, podsets[0]["count"] - 1)
    return {
        "name": f"w{index:02}",
        "queue": f"lq-{rng.choice(queues)}",
        "priority": rng.choice(_PRIORITIES),
        "created": rng.randint(0, 60),
        "podSets": podsets,
    }


def _podset(rng: Random, name: str, resources: list[str]) -> Json:
    count = rng.choice((1, 1, 1, 2, 3))
    requests = {one: _amount(rng, one) for one in resources if one == "cpu" or rng.random() < 0.8}
    return {"name": name, "count": count, "requests": requests}


def _amount(rng: Random, resource: str) -> str:
    return f"{rng.choice((1, 2, 2, 3, 4, 6))}" + ("" if resource == "cpu" else "Gi")


def _actions(rng: Random, world: World, fresh: list[str]) -> list[Json]:
    """Draw a step's actions: some arrive, some that run end, now and then a quota moves."""
    running = [one.job.name for one in world.draft.workloads.values() if one.phase in _HOLDING]
    ending = rng.sample(running, rng.randint(0, min(2, len(running))))
    actions = [_ending(rng, name) for name in ending]
    waiting = [one.job.name for one in world.draft.workloads.values() if one.phase == "pending"]
    if waiting and rng.random() < 0.2:
        chosen = rng.choice(waiting)
        priority = rng.choice(_PRIORITIES)
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
    told = rng.choice(queues)
    spec = dict(told["spec"])
    group = spec["resourceGroups"][0]
    names = [one["name"] for one in group["flavors"]]
    limits = "cohortName" in spec
    spec["resourceGroups"] = [_group(rng, names, group["coveredResources"], limits=limits)]
    return {"op": "updateClusterQueue", "clusterQueue": told["name"], "spec": spec}
