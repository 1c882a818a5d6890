"""The slow way judges the fast one where LocalQueues that used less are offered first.

``python -m tests.core.usage_judge --seeds N``: scenarios of ``tests.core.judge``, two LocalQueues
a ClusterQueue, admission fair sharing in most, and usage that decays between steps.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random

from tests.conformance.cases import Json
from tests.core.judge import Way, judge, played, wide
from tests.differential.random_scenarios import scenario
from tests.differential.scenarios import Scenario

HALF_LIVES_S = (0, 60, 10_000, 1_000_000)
WEIGHTS = ("1", "1", "2", "0.5", "0")


def journal(seed: int, way: Way, mode: str = "tidegate") -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    return played(seed, shared(seed), way, mode)


def shared(seed: int) -> Scenario:
    """Draw a scenario in which ClusterQueues offer workloads by their LocalQueues' usage."""
    rng = Random(f"{seed}/usage")
    actual_scenario = wide(seed) if seed % 2 else scenario(seed)
    actual_scenario.config["admissionFairSharing"] = {
        "halfLifeSeconds": rng.choice(HALF_LIVES_S),
        "samplingIntervalSeconds": rng.choice((60, 3_600)),
    }
    for queue in actual_scenario.input["clusterQueues"]:
        if rng.random() < 0.8:
            mode = {"admissionMode": "UsageBasedAdmissionFairSharing"}
            queue["spec"]["admissionScope"] = mode
    actual_scenario.input["localQueues"] = [
        _weighed(rng, {**queue, "name": name})
        for queue in actual_scenario.input["localQueues"]
        for name in (queue["name"], f"{queue['name']}-b")
    ]
    for workload in actual_scenario.input["workloads"]:
        workload["queue"] += rng.choice(("", "-b"))
    return actual_scenario


def _weighed(rng: Random, queue: Json) -> Json:
    return {**queue, "fairSharing": {"weight": rng.choice(WEIGHTS)}}


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.usage_judge", __doc__, journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
