"""Pods that stay on a node that does not answer: observed as gone when their time is over."""

from __future__ import annotations

import asyncio

import pytest

from tests.ingest.scene import jobs, session
from tests.ingest.test_pod_groups import PODS, member
from tests.parts.stage import JOBS, Object, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved
from tidegate.kinds.times import rfc3339

TWICE_S = 60
"""Twice a pod's grace period, which is 30 seconds."""


def crewed(group: str = "crew") -> Stage:
    """Return a stage on which both pods of a group, or two pods of none, run on a node."""
    stage = Stage()
    for name in ("one", "two"):
        pod = member(name)
        pod["spec"] |= {"nodeName": "n1"}
        del pod["spec"]["schedulingGates"]
        if not group:
            del pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"]
            del pod["metadata"]["annotations"]
        stage.make(PODS, pod)
        stage.change(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})
    return stage


@pytest.mark.parametrize(("group", "active"), [("crew", 1), ("", 0)], ids=["group", "alone"])
def test_a_deleted_pod_is_observed_as_gone_after_twice_its_grace_period(
    group: str, active: int
) -> None:
    async def run() -> None:
        stage = crewed(group)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            deleted_us = stage.now_us()
            stage.remove(f"{PODS}/one")
            await stage.hear(JobObserved, lambda job: job.state.active == active)
            late_s = (stage.now_us() - deleted_us) / 1e6 - TWICE_S
        assert -1 <= late_s <= 2
        (mine,) = {seen.name for seen in await jobs(stage) if seen.state.active == active}
        assert mine == (group or "one")

    run_virtually(run())


def test_with_the_gate_a_deleted_pod_is_gone_at_once() -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage, fast_release=True).run()):
            await stage.hear(Heartbeat)
            stage.remove(f"{PODS}/one")
            await stage.hear(JobObserved, lambda job: job.state.active == 1)
            assert stage.now_us() < TWICE_S * 1_000_000

    run_virtually(run())


def test_a_pod_that_is_gone_in_time_is_not_observed_again() -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.remove(f"{PODS}/one")
            await asyncio.sleep(TWICE_S / 2)
            stage.embedded.call("DELETE", f"{PODS}/one", body=b'{"gracePeriodSeconds":0}')
            await stage.hear(JobObserved, lambda job: job.state.active == 1)
            before = await jobs(stage)
            await asyncio.sleep(TWICE_S)
            assert await jobs(stage) == before

    run_virtually(run())


def test_a_later_session_does_not_count_the_pod_again() -> None:
    async def run() -> None:
        stage = crewed()
        stage.remove(f"{PODS}/one")
        await asyncio.sleep(TWICE_S)
        async with alongside(session(stage, "s2").run()):
            await stage.hear(Heartbeat)
        assert [job.state.active for job in await jobs(stage)] == [1]

    run_virtually(run())


def terminating(stage: Stage, pods: int) -> Object:
    now = rfc3339(stage.now_us())
    condition = {"type": "Suspended", "status": "True", "lastTransitionTime": now}
    return {"status": {"terminating": pods, "conditions": [condition]}}


def test_a_suspended_jobs_terminating_pods_count_for_twice_their_grace_period() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(f"{JOBS}/train/status", terminating(stage, 2))
            began_us = stage.now_us()
            await stage.hear(JobObserved, lambda job: job.state.active == 2)
            stopped = len(await jobs(stage))
            while (await jobs(stage))[-1].state.active:
                await asyncio.sleep(0.5)
            assert len(await jobs(stage)) == stopped + 1
            assert -2 <= (stage.now_us() - began_us) / 1e6 - TWICE_S <= 2

    run_virtually(run())
