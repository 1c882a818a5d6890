"""The workloads of an object are found by its name, and a slow cluster delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from dispatcher.collect import OrphanCollector
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
        targets.apply_event(ClusterChosen(**about, job=of, cluster=f"c{index}"))
    assert targets.workloads_of_object("default/llm") == ["default/w0", "default/w1"]
    assert targets.is_shared("default/w0", "c1")
    assert not targets.is_shared("default/w0", "c0")
    other = job("other", "v")
    targets.apply_event(
        ClusterChosen(**ABOUT | {"workload": "default/w0"}, job=other, cluster="c0")
    )
    assert targets.workloads_of_object("default/llm") == ["default/w1"]
    gone = ABOUT | {"workload": "default/w1"}
    targets.apply_event(
        RemoteWithdrawn(**gone, job=job("llm-1", "u.1"), clusters=("c1",), reason="x")
    )
    targets.apply_event(RemoteWorkloadRemoved(at_us=2, workload="default/w1", cluster="c1"))
    assert targets.workloads_of_object("default/llm") == []
    targets.clear()
    assert targets.workloads_of_object("default/other") == []


def test_all_workloads_are_looked_at_in_parts_of_about_the_same_size() -> None:
    targets = Targets()
    for index in range(130):
        about = ABOUT | {"workload": f"default/w{index}"}
        targets.apply_event(ClusterChosen(**about, job=job(f"j{index}", f"u{index}"), cluster="c"))
    few = list(targets.split_into(60))
    assert (len(few), {len(each) for each in few}) == (60, {2, 3})
    assert sorted(key for each in few for key in each) == sorted(targets.of)


class Slow(OrphanCollector):
    """Looks at a copy on the worker cluster ``slow`` for longer than a test lasts."""

    looked: list[str]

    async def _check_copy(self, worker: Worker, key: str, copy: Object) -> None:
        del key, copy
        self.looked.append(worker.name)
        await asyncio.sleep(10_000 if worker.name == "slow" else 0)


@dataclass(eq=False)
class Connection:
    """A worker cluster with a copy."""

    name: str
    workloads: Any = field(default_factory=lambda: SimpleNamespace(items={"default/one": {}}))
    jobs: Any = field(default_factory=dict[str, Any])


async def looked_at(connections: dict[str, Connection], during: Callable[[], None]) -> list[str]:
    """Collect for 200 s, in the midst of which something happens; return what was looked at."""
    fleet = cast("Any", SimpleNamespace(workers=connections))
    collector = Slow(cast("Any", None), fleet, Targets(), 60)
    collector.looked = []
    async with asyncio.TaskGroup() as tasks:
        collecting = tasks.create_task(collector.run())
        await asyncio.sleep(100)
        during()
        await asyncio.sleep(100)
        collecting.cancel()
    return sorted(collector.looked)


def test_a_cluster_that_answers_slowly_delays_the_collection_on_no_other() -> None:
    connections = {name: Connection(name) for name in ("slow", "fast")}
    looked = run_virtually(looked_at(connections, lambda: None))
    assert looked == ["fast", "fast", "fast", "slow"]


def test_a_new_connection_of_a_cluster_that_answered_slowly_is_collected() -> None:
    connections = {"slow": Connection("slow")}
    again = partial(connections.__setitem__, "slow", Connection("slow"))
    assert run_virtually(looked_at(connections, again)) == ["slow", "slow"]
