"""Pod groups that lack pods: one of their pods is refused, if others do not come in time."""

from __future__ import annotations

import asyncio

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from ingest.pods.groups import INCOMPLETE_US, PodGroups
from tests.ingest.scene import session
from tests.ingest.test_pod_groups import CREATED, KUEUE, PODS, member
from tests.parts.stage import Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectRefused
from tidegate.jobs.pods import pod_group
from tidegate.jobs.pods.grouping import group_name
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod


def test_a_pod_of_a_group_that_lacks_pods_for_long_is_refused_once() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(PODS, member("one", total="3"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(PODS, member("two", total="3"))
            refusal = await stage.hear(ObjectRefused)
            assert (refusal.name, stage.now_us() > INCOMPLETE_US) == ("two", True)
            assert refusal.error == (
                "Its group crew has 2 of 3 pods: create the others, or correct "
                f"{KUEUE}/pod-group-total-count."
            )
            await asyncio.sleep(60)
            stage.make(PODS, member("three", total="3"))
            await stage.hear(JobObserved, lambda job: bool(job.podsets))
            assert sum(isinstance(seen, ObjectRefused) for seen in await stage.heard()) == 1

    run_virtually(run())


def test_groups_may_come_and_go_while_others_are_looked_at() -> None:
    groups = PodGroups(JobIndex([pod_group.KIND], Scope()), lambda: INCOMPLETE_US * clock)
    clock = 0
    list(groups.listed(frozenset(), 1))
    for number in range(3):
        add(groups, f"group-{number}", number)
    clock = 1
    late = groups.expired()
    assert group_name(next(late).metadata) == "group-0"
    list(groups.forget("uid-1", 9))
    add(groups, "new", 3)
    add(groups, "newer", 4)
    assert [group_name(pod.metadata) for pod in late] == ["group-2"]


def add(groups: PodGroups, group: str, number: int) -> None:
    """Add a pod of a group of two."""
    obj = member(f"pod-{number}", group=group)
    obj["metadata"] |= {"namespace": "default", "uid": f"uid-{number}"}
    obj["metadata"] |= {"resourceVersion": str(number + 2), "creationTimestamp": CREATED}
    list(groups.add(read(obj, Pod)))
    list(groups.changed_groups())


def test_a_group_that_is_complete_in_time_has_no_refused_pod() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(PODS, member("one"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            await asyncio.sleep(INCOMPLETE_US / 2e6)
            stage.make(PODS, member("two"))
            await asyncio.sleep(60)
        assert not [seen for seen in await stage.heard() if isinstance(seen, ObjectRefused)]

    run_virtually(run())
