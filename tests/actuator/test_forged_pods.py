"""Pods that a user made to look like those of a workload that a topology placed."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from unittest.mock import patch

from actuator.projection.workload_view import WorkloadView
from actuator.ungating.topology import TopologyPods
from tests.actuator.placing import Placing, assigned, node_failed
from tests.actuator.test_topology_pods import staged
from tests.parts.stage import eventually
from tidegate.kinds.pods import Pod

STRANGERS = 40


def test_pods_of_workloads_that_are_not_there_cost_nothing_for_each_decision() -> None:
    """A user with the right to create pods may write thousands of names into them."""
    looks = Counter[str]()
    minds = TopologyPods.is_relevant

    def counted(rule: TopologyPods, pod: Pod) -> bool:
        looks[rule.job_of(pod)] += 1
        return minds(rule, pod)

    async def run(stage: Placing) -> None:
        workloads = Counted(stage.read_model.workloads)
        stage.read_model.workloads = workloads
        for number in range(STRANGERS):
            stage.pod(f"s{number}", None, "main", **{"kueue.x-k8s.io/workload": f"absent-{number}"})
        await asyncio.sleep(20)  # each was looked for in vain, some times
        assert workloads.walks <= 20
        with patch.object(TopologyPods, "is_relevant", counted):
            for _ in range(100):
                stage.deliver(node_failed("elsewhere"))
                await asyncio.sleep(0.01)
            stage.pod("p0", 0)
            await eventually(lambda: stage.hosts() == {"p0": "a"})
        assert sum(units for job, units in looks.items() if "absent" in job) <= 6 * STRANGERS

    staged(run, assigned(a=1))


class Counted(dict[str, WorkloadView]):
    """Counts how often all of it is walked through."""

    walks = 0

    def values(self) -> Any:  # noqa: ANN401 - a view of a dict
        self.walks += 1
        return super().values()
