"""What a change costs the dispatcher does not depend on how much else there is.

Counted are executed lines on a virtual clock, without those of the same time in which nothing
changed: every five seconds it looks at each cluster, and every minute at each workload.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.dispatcher.stage import WORKER, Dispatch
from tests.multikueue.sites import SECRETS, secret
from tests.multikueue.world import WORKLOADS
from tests.parts.cost import count_lines
from tests.parts.stage import KUEUE, alongside
from tests.parts.virtual import run_virtually

SETTLED_S, LOOK_S = 70.0, 3.0
FEW, MANY = 20, 100
PERCENT = 5
"""So much more may be executed beside many: turns of the loop differ."""
Fill = Callable[[Dispatch, int], None]
Change = Callable[[Dispatch], None]
RESERVED = {
    "type": "QuotaReserved",
    "status": "True",
    "reason": "r",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def _clusters(dispatch: Dispatch, count: int) -> None:
    for number in range(count):
        dispatch.make_cluster(f"c{number}")


def _checks(dispatch: Dispatch, count: int) -> None:
    for number in range(count):
        dispatch.make_check(f"k{number}", WORKER)


def _queues(dispatch: Dispatch, count: int) -> None:
    for number in range(count):
        dispatch.make_queue(f"q{number}", "check")


def _jobs(dispatch: Dispatch, count: int) -> None:
    for number in range(count):
        dispatch.send(f"j{number}", WORKER)


def _secrets(dispatch: Dispatch, count: int) -> None:
    for number in range(count):
        dispatch.manager.make(SECRETS, secret(f"s{number}", "https://other.example"))


def _reserve(dispatch: Dispatch) -> None:
    dispatch.worker.change(f"{WORKLOADS}/zero/status", {"status": {"conditions": [RESERVED]}})


def _count(dispatch: Dispatch) -> None:
    path = f"{KUEUE}/namespaces/default/localqueues/main/status"
    dispatch.manager.change(path, {"status": {"pendingWorkloads": 3}})


CHANGES: dict[str, tuple[Change, tuple[Fill, ...]]] = {
    "a job is sent": (lambda d: d.send("new", WORKER), (_clusters, _jobs)),
    "a copy changes": (_reserve, (_clusters, _jobs)),
    "a queue is made": (lambda d: d.make_queue("new", "check"), (_queues,)),
    "a queue of no check is made": (lambda d: d.make_queue("new"), (_queues,)),
    "a queue's counts change": (_count, (_queues,)),
    "a check is made": (lambda d: d.make_check("new", WORKER), (_checks, _queues, _clusters)),
    "a cluster is made": (lambda d: d.make_cluster("new"), (_checks, _secrets, _clusters)),
    "a secret is made": (lambda d: _secrets(d, 1), (_checks, _clusters)),
}


async def _lines(fill: Fill, change: Change, count: int) -> int:
    dispatch = Dispatch()
    dispatch.make_cluster(WORKER)
    dispatch.make_check("check", WORKER)
    dispatch.make_queue("main", "check")
    fill(dispatch, count)
    dispatch.send("zero", WORKER)
    async with alongside(dispatch.session.run()):
        await asyncio.sleep(SETTLED_S)
        with count_lines("dispatcher") as idle:
            await asyncio.sleep(LOOK_S)
        with count_lines("dispatcher") as lines:
            change(dispatch)
            await asyncio.sleep(LOOK_S)
    return (lines - idle).total()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_costs_as_much_beside_many_others(name: str) -> None:
    change, fills = CHANGES[name]
    for fill in fills:
        few, many = (run_virtually(_lines(fill, change, count)) for count in (FEW, MANY))
        assert 0 < many <= few * (100 + PERCENT) // 100, (fill.__name__, few, many)


def test_a_look_at_all_clusters_costs_as_much_for_each() -> None:
    async def lines_of(clusters: int) -> int:
        dispatch = Dispatch()
        _clusters(dispatch, clusters)
        async with alongside(dispatch.session.run()):
            await asyncio.sleep(SETTLED_S)
            with count_lines("dispatcher", "yaml") as lines:
                await asyncio.sleep(60.0)
        return lines.total()

    few, many = (run_virtually(lines_of(clusters)) for clusters in (FEW, MANY))
    assert many <= few * MANY // FEW
    assert many / MANY / 12 < 200  # of one cluster at one look: its kubeconfig is not read again
