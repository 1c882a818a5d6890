"""The workloads of an object are found by its name, and a slow cluster delays no other."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from dispatcher.collect import Collector
from dispatcher.targets import Targets
from dispatcher.workers.worker import Worker
from tests.parts.virtual import run_virtually
from tidegate.contracts.decision_kinds.clusters import ClusterChosen, RemoteWithdrawn
from tidegate.contracts.fact_kinds.clusters import RemoteWorkloadRemoved
from tidegate.jobs.kind import Object
from tidegate.model.ids import ObjectRef

ABOUT: dict[str, Any] = {"at_us": 1, "workload": "default/one", "uid": "w", "cluster_queue": "q"}


def job(name: str, uid: str) -> ObjectRef:
    return ObjectRef(kind="leaderworkerset", namespace="default", name=name, uid=uid)


def test_workloads_are_found_by_the_object_that_they_are_groups_of() -> None:
    targets = Targets()
    for index in range(2):
        about = ABOUT | {"workload": f"default/w{index}"}
        of = job(f"llm-{index}", f"u.{index}")
        targets.learn(ClusterChosen(**about, job=of, cluster=f"c{index}"))
    assert targets.of_object("default/llm") == ["default/w0", "default/w1"]
    assert targets.shares("default/w0", "c1")
    assert not targets.shares("default/w0", "c0")
    other = job("other", "v")
    targets.learn(ClusterChosen(**ABOUT | {"workload": "default/w0"}, job=other, cluster="c0"))
    assert targets.of_object("default/llm") == ["default/w1"]
    gone = ABOUT | {"workload": "default/w1"}
    targets.learn(RemoteWithdrawn(**gone, job=job("llm-1", "u.1"), clusters=("c1",), reason="x"))
    targets.learn(RemoteWorkloadRemoved(at_us=2, workload="default/w1", cluster="c1"))
    assert targets.of_object("default/llm") == []
    targets.clear()
    assert targets.of_object("default/other") == []


class Slow(Collector):
    """Looks at a copy on the worker cluster ``slow`` for longer than a test lasts."""

    looked: list[str]

    async def _look_at(self, worker: Worker, key: str, copy: Object) -> None:
        del key, copy
        self.looked.append(worker.name)
        await asyncio.sleep(10_000 if worker.name == "slow" else 0)


def test_a_cluster_that_answers_slowly_delays_the_collection_on_no_other() -> None:
    async def live() -> None:
        copies = SimpleNamespace(items={"default/one": {}})
        workers = {
            name: SimpleNamespace(name=name, workloads=copies, jobs={}) for name in ("slow", "fast")
        }
        fleet = cast("Any", SimpleNamespace(workers=workers))
        collector = Slow(cast("Any", None), fleet, Targets(), 60)
        collector.looked = []
        collecting = asyncio.create_task(collector.run())
        await asyncio.sleep(200)
        collecting.cancel()
        assert sorted(collector.looked) == ["fast", "fast", "fast", "slow"]

    run_virtually(live())
