"""Recorded scenarios with some of their policies, quotas and priorities drawn anew.

They keep what makes the recorded ones hard, above all the livelocks, and are no longer what Kueue's
recordings contain.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from random import Random

from tests.conformance.cases import Json
from tests.differential.drawing import (
    PRIORITIES,
    QUOTAS_CPU,
    STRATEGIES,
    WEIGHTS,
    fungibility,
    preemption,
)
from tests.differential.scenarios import DATA, Scenario, classes


def mutated(seed: int) -> Scenario:
    """Return a recorded scenario with changes, and without what was expected of it."""
    rng = Random(seed)
    was = rng.choice(_recorded())
    given = deepcopy(was.input)
    for queue in given["clusterQueues"]:
        _change_queue(rng, queue["spec"])
    for workload in given["workloads"]:
        if rng.random() < 0.3:
            workload["priority"] = rng.choice(PRIORITIES)
    return Scenario(
        id=f"random/{seed} (from {was.id})",
        config=_config(rng, was),
        input=given,
        steps=[{"actions": _actions(rng, step)} for step in was.steps],
        loops=True,
    )


@cache
def _recorded() -> list[Scenario]:
    return [scenario for _, scenarios in classes(DATA) for scenario in scenarios]


def _config(rng: Random, was: Scenario) -> Json:
    if rng.random() < 0.6:
        return was.config
    return {} if was.fair else {"fairSharing": {"preemptionStrategies": list(STRATEGIES)}}


def _actions(rng: Random, step: Json) -> list[Json]:
    """Keep few of the changes of queues: they would undo ours."""
    return [
        action
        for action in step["actions"]
        if action["op"] != "updateClusterQueue" or rng.random() < 0.3
    ]


def _change_queue(rng: Random, spec: Json) -> None:
    if rng.random() < 0.5:
        spec["preemption"] = preemption(rng, spec.get("cohortName", ""))
    if rng.random() < 0.4:
        spec["flavorFungibility"] = fungibility(rng)
    if rng.random() < 0.3:
        spec["queueingStrategy"] = rng.choice(("BestEffortFIFO", "StrictFIFO"))
    if rng.random() < 0.3:
        spec["fairSharing"] = {"weight": rng.choice(WEIGHTS)}
    if rng.random() < 0.3:
        _change_quotas(rng, spec)


def _change_quotas(rng: Random, spec: Json) -> None:
    for group in spec["resourceGroups"]:
        for flavor in group["flavors"]:
            for row in flavor["resources"]:
                if row["name"] == "cpu" and rng.random() < 0.3:
                    row["nominalQuota"] = str(rng.choice(QUOTAS_CPU))
