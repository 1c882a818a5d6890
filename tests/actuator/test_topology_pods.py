"""Pods that a topology placed are told their domains and let go, each once, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actuator.placing import (
    INDEX,
    PODS,
    WORKLOAD,
    WORKLOADS,
    Placing,
    assigned,
    node_failed,
    phase_of,
    replaced,
)
from tests.parts.drawn import drawn
from tests.parts.stage import Object, eventually, kueue
from tests.parts.virtual import run_virtually


def staged(work: Callable[[Placing], Coroutine[Any, Any, None]], *about: Any, **more: Any) -> None:  # noqa: ANN401 - of a Placing
    """Run a test on a stage of its own."""

    async def run() -> None:
        stage = Placing(*about, **more)
        try:
            await work(stage)
        finally:
            await stage.end()

    run_virtually(run())


def test_each_pod_gets_the_domain_of_its_rank_in_one_patch() -> None:
    async def run(stage: Placing) -> None:
        for rank in (2, 0, 1):
            stage.pod(f"p{rank}", rank)
        await eventually(lambda: stage.hosts() == {"p0": "a", "p1": "a", "p2": "b"})
        assert sum(method == "PATCH" for method, _ in stage.api.requests) == 3

    staged(run, assigned(a=2, b=1))


def test_pods_are_not_watched_before_a_topology_has_placed_any() -> None:
    async def run(stage: Placing) -> None:
        stage.read_model.places = False
        stage.pod("p0", 0)
        stage.start()
        stage.api.requests.clear()
        await asyncio.sleep(60)
        assert stage.api.requests == []
        stage.read_model.places = True
        await eventually(lambda: stage.hosts() == {"p0": "a"})

    staged(run, assigned(a=1))


@pytest.mark.parametrize("phase", ["reserved", "pending", "finished"])
def test_pods_of_a_workload_that_is_not_admitted_wait(phase: Any) -> None:  # noqa: ANN401 - a literal
    async def run(stage: Placing) -> None:
        stage.show(phase, (assigned(a=1),))
        stage.pod("p0", 0)
        await asyncio.sleep(30)
        assert stage.hosts() == {}
        stage.read_model.fills_in = True
        stage.show("admitted", (assigned(a=1),))
        await asyncio.sleep(30)
        assert stage.hosts() == {}  # what stands there may be old
        stage.read_model.fills_in = False
        await eventually(lambda: stage.hosts() == {"p0": "a"})

    staged(run, assigned(a=1))


GROUPED: Object = {"podSetGroupName": "g", "required": "rack"}


def test_a_leader_is_the_first_of_the_workers_that_are_numbered_behind_it() -> None:
    async def run(stage: Placing) -> None:
        stage.pod("l", 0, "leader")
        stage.pod("w1", 1, "worker")
        stage.pod("w2", 2, "worker")
        await eventually(lambda: stage.hosts() == {"l": "a", "w1": "a", "w2": "b"})

    requests = {"leader": GROUPED, "worker": {**GROUPED, "podIndexLabel": INDEX}}
    staged(run, assigned("leader", a=1), assigned("worker", a=1, b=1), requests=requests)


def test_pods_of_several_jobs_are_numbered_job_by_job() -> None:
    async def run(stage: Placing) -> None:
        for job in (0, 1):
            for rank in (0, 1):
                stage.pod(f"p{job}{rank}", rank)
                marks = {"metadata": {"labels": {"job": str(job)}}}
                stage.change(f"{PODS}/p{job}{rank}", marks)
        wanted = {"p00": "a", "p01": "b", "p10": "b", "p11": "b"}
        await eventually(lambda: stage.hosts() == wanted)

    request = {"podIndexLabel": INDEX, "subGroupIndexLabel": "job", "subGroupCount": 2}
    staged(run, assigned(a=1, b=3), requests={"main": request})


def test_pods_go_to_the_node_that_took_a_failed_ones_place_and_those_stuck_there_fail() -> None:
    async def run(stage: Placing) -> None:
        for rank in (0, 1):
            stage.pod(f"p{rank}", rank)
        await eventually(lambda: stage.hosts() == {"p0": "a", "p1": "b"})
        stage.change(f"{PODS}/p0", {"spec": {"nodeName": "a"}})
        stage.deliver(node_failed("b"))
        stage.pod("q1", 1)
        await asyncio.sleep(10)
        assert "q1" not in stage.hosts()
        stage.deliver(replaced("b", assigned(a=1, c=1)))
        await eventually(lambda: phase_of(stage.pods()["p1"]) == "Failed")
        conditions = stage.pods()["p1"]["status"]["conditions"]
        assert conditions[-1]["reason"] == "UnschedulableOnAssignedNode"
        await eventually(lambda: stage.hosts().get("q1") == "c")
        assert phase_of(stage.pods()["p0"]) == "Pending"

    staged(run, assigned(a=1, b=1))


@pytest.mark.parametrize("evicted", [False, True], ids=["replaced", "evicted"])
def test_a_pod_whose_node_fails_before_it_is_let_go_gets_the_new_one_or_waits(
    *, evicted: bool
) -> None:
    async def run(stage: Placing) -> None:
        stage.deliver(node_failed("b"))
        for rank in (0, 1):
            stage.pod(f"p{rank}", rank)
        await eventually(lambda: stage.hosts() == {"p0": "a"})
        await asyncio.sleep(30)
        assert stage.hosts() == {"p0": "a"}
        if evicted:
            stage.show("pending", (assigned(a=1, c=1),))
            await asyncio.sleep(30)
            assert stage.hosts() == {"p0": "a"}
        else:
            stage.deliver(replaced("b", assigned(a=1, c=1)))
            await eventually(lambda: stage.hosts() == {"p0": "a", "p1": "c"})

    staged(run, assigned(a=1, b=1))


def test_a_pod_that_was_let_go_without_an_answer_keeps_its_room_when_that_is_refused_again() -> (
    None
):
    """The second patch conflicts with the first, which was applied: its domain was given away."""

    async def run(stage: Placing) -> None:
        await asyncio.sleep(5)
        stage.api.lag_s, stage.api.answers_lost = 3.0, 1
        stage.pod("z")
        stage.pod("p")
        await eventually(lambda: len(stage.hosts()) == 2)
        assert stage.held() == {"a": 1, "b": 1}

    staged(run, assigned(a=1, b=1))


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["make", "make", "make", "fail", "delete", "restart", "lose", "lag", "move"]
        ),
        st.integers(0, 7),
    ),
    max_size=24,
)


@drawn(25)
@given(ACTS)
def test_whatever_happens_each_pod_is_let_go_once_and_no_domain_is_overfilled(
    acts: list[tuple[str, int]],
) -> None:
    async def run(stage: Placing) -> None:
        seen, room = dict[str, str](), {"a": 2, "b": 2, "c": 1}
        for at, (act, number) in enumerate(acts):
            room |= _happens(stage, act, number, at)
            for _ in range(number):
                await asyncio.sleep(0.3)
                held, hosts = stage.held(), stage.hosts()
                assert all(held[host] <= count for host, count in room.items())
                assert seen.items() <= {**seen, **hosts}.items()  # no pod moves
                seen |= hosts
        stage.api.answers_lost, stage.api.lag_s = 0, 0.0
        stage.pod("last")
        for name, fields in stage.pods().items():
            if name in stage.hosts() and phase_of(fields) != "Failed":
                stage.say(name, "Failed")
        await eventually(lambda: "last" in stage.hosts() or sum(stage.held().values()) == 5)

    staged(run, assigned(a=2, b=2, c=1))


def _happens(stage: Placing, act: str, number: int, at: int) -> dict[str, int]:
    """Let something happen; return which hosts have room for how many from now on."""
    names = sorted(stage.pods())
    text = names[number % len(names)] if names else ""
    match act:
        case "make":
            stage.pod(f"p{at}", number if number < 5 else None)
        case "fail" if text in stage.hosts():
            stage.say(text, "Failed")
        case "delete" if text:
            stage.remove(f"{PODS}/{text}")
        case "restart":
            stage.start()
        case "lose":
            stage.api.answers_lost = number
        case "lag":
            stage.api.lag_s = number / 4
        case "move":
            stage.deliver(node_failed("b"))
            stage.deliver(replaced("b", assigned(a=2, c=1, d=2)))
            return {"d": 2}
        case _:
            pass
    return {}


@pytest.mark.parametrize("known", [True, False], ids=["the first is known", "it is gone"])
def test_pods_of_an_elastic_job_go_where_the_slice_that_took_over_says(*, known: bool) -> None:
    async def run(stage: Placing) -> None:
        stage.pod("p0", 0)
        await eventually(lambda: stage.hosts() == {"p0": "a"})
        stage.show("finished", (assigned(a=1),), first="train")
        stage.show("admitted", (assigned(a=1, b=1),), key="default/larger", first="train")
        stage.show("admitted", (assigned(c=2),), key="default/other", first="another")
        podset = {"name": "main", "count": 2, "template": {"spec": {"containers": []}}}
        stage.make(WORKLOADS, kueue("Workload", "larger", queueName="main", podSets=[podset]))
        if not known:
            del stage.read_model.workloads[WORKLOAD]
        stage.pod("p1", 1)
        await eventually(lambda: stage.hosts() == {"p0": "a", "p1": "b"})

    staged(run, assigned(a=1))


def test_pods_of_an_elastic_job_that_became_smaller_go_nowhere_that_it_has_given_back() -> None:
    async def run(stage: Placing) -> None:
        stage.show("admitted", (assigned(a=2, b=2),), first="train")
        stage.read_model.workloads[WORKLOAD].counts = {"main": 1}
        stage.pod("p0")
        await eventually(lambda: stage.hosts() == {"p0": "a"})
        stage.pod("p1")  # it grows again: no slice of so many is admitted yet
        await asyncio.sleep(30)
        assert stage.hosts() == {"p0": "a"}

    staged(run, assigned(a=2, b=2))
