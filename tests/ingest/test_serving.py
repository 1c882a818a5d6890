"""StatefulSets and LeaderWorkerSets as ingest tells them, with their pods."""

from __future__ import annotations

import pytest

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from ingest.pods.referred import Claims
from ingest.pods.serving import ServingSets
from tests.ingest.scene import gone, jobs, rounds, session
from tests.parts.foreign import foreign_crd, pods_template
from tests.parts.stage import KUEUE, Object, Stage, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import (
    Heartbeat,
    JobObserved,
    ObjectGone,
    ObjectRefused,
)
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.decode import read
from tidegate.kinds.names import (
    COMPONENT_INDEX,
    IS_GROUP_WORKLOAD,
    MANAGED,
    MANAGER,
    MANAGER_UID,
    PREBUILT_WORKLOAD,
    SUSPENDING_PARENT,
)
from tidegate.kinds.pods import Pod

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
GROUPS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
PODS = "/api/v1/namespaces/default/pods"
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
LABELS = "leaderworkerset.sigs.k8s.io"
KIND, LWS_GROUP, LWS_PODSETS = "LeaderWorkerSet", "leaderworkerset.x-k8s.io", ("leader", "worker")


def served() -> Stage:
    stage = Stage()
    for name in ("statefulset", "leaderworkerset"):
        stage.make(CRDS, foreign_crd(name))
    return stage


def stateful(name: str = "db", replicas: int = 2, queue: str = "main") -> Object:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    spec = {"replicas": replicas, "template": pods_template()}
    head = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    return {**head, "metadata": {"name": name, "labels": labels}, "spec": spec}


def leader_worker_set(replicas: int = 2) -> Object:
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    groups = {"size": 2, "leaderTemplate": pods_template(), "workerTemplate": pods_template()}
    spec = {"replicas": replicas, "leaderWorkerTemplate": groups}
    head = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    return {**head, "metadata": {"name": "llm", "labels": labels}, "spec": spec}


def pod(named: str, owner: Object, *, gated: bool = True, **labels: str) -> Object:
    controller = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}
    controller |= {key: owner["metadata"][key] for key in ("name", "uid")}
    parent = LWS if labels else "statefulset"
    gates = [{"name": "kueue.x-k8s.io/admission"}] if gated else []
    return {
        "metadata": {
            "name": named,
            "labels": {f"{LABELS}/{key.replace('_', '-')}": text for key, text in labels.items()},
            "annotations": {SUSPENDING_PARENT: parent},
            "ownerReferences": [controller],
        },
        "spec": {**pods_template()["spec"], "schedulingGates": gates},
        "status": {"phase": "Pending" if gated else "Running"},
    }


def test_a_stateful_set_is_told_before_its_pods_come_and_as_they_stand() -> None:
    async def run() -> None:
        stage = served()
        made = stage.make(SETS, stateful())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            (told,) = await jobs(stage)
            assert (told.kind, told.name, told.uid) == (
                "statefulset",
                "db",
                made["metadata"]["uid"],
            )
            assert told.state.suspended
            stage.make(PODS, pod("db-0", made, gated=False))
            await stage.hear(JobObserved, lambda one: one.state.active == 1)
        (listed,) = await rounds(stage, "statefulsets.apps")
        assert told.uid in listed.present

    run_virtually(run())


LEFT = {
    "no parent": {"metadata": {"annotations": {SUSPENDING_PARENT: None}}},
    "no owner": {"metadata": {"ownerReferences": []}},
    "not managed": {"metadata": {"labels": {MANAGED: None}}},
}


@pytest.mark.parametrize("patch", LEFT.values(), ids=LEFT)
def test_a_running_pod_that_leaves_its_set_must_not_run_and_counts_until_it_is_gone(
    patch: Object,
) -> None:
    async def run() -> None:
        stage = served()
        found = pod("db-0", stage.make(SETS, stateful()), gated=False)
        found["metadata"]["labels"] = {MANAGED: "true"}
        stage.make(PODS, found)
        async with alongside(session(stage).run()):
            told = await stage.hear(JobObserved, lambda one: one.state.active == 1)
            stage.change(f"{PODS}/db-0", patch)
            stray = await stage.hear(ObjectRefused, lambda one: one.name == "db-0")
            assert (stray.job.kind, stray.job.stray) == ("pod", "Unreadable")
            newest = [one for one in await jobs(stage) if one.uid == told.uid][-1]
            assert newest.state.active == 1
            stage.remove(f"{PODS}/db-0")
            await stage.hear(
                JobObserved, lambda one: one.version > newest.version and one.uid == told.uid
            )
            assert [one for one in await jobs(stage) if one.uid == told.uid][-1].state.active == 0

    run_virtually(run())


def test_a_stateful_set_that_was_sent_joins_its_copy() -> None:
    async def run() -> None:
        stage = served()
        podsets = [{"name": "main", "count": 2, "template": pods_template()}]
        copy = kueue("Workload", "statefulset-db-1", queueName="main", podSets=podsets, priority=7)
        copy["metadata"]["labels"] = {MANAGER: "m"}
        copy["metadata"]["annotations"] = {IS_GROUP_WORKLOAD: "true"}
        stage.make(f"{KUEUE}/namespaces/default/workloads", copy)
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda one: one.kind == "workload")
            found = stateful()
            found["metadata"]["annotations"] = {PREBUILT_WORKLOAD: "statefulset-db-1"}
            stage.make(SETS, found)
            told = await stage.hear(JobObserved, lambda one: one.kind == "statefulset")
            assert (told.workload, told.priority) == ("default/statefulset-db-1", 7)
            assert (told.gates, told.finished) == ((), "")
            stage.change(f"{SETS}/db", {"spec": {"replicas": 3}})
            await stage.hear(JobObserved, lambda one: one.finished == "OutOfSync")

    run_virtually(run())


@pytest.mark.parametrize("owned", [False, True], ids=["new", "its own by now"])
def test_the_groups_of_a_set_that_was_sent_join_their_copies(*, owned: bool) -> None:
    async def run() -> None:
        stage = served()
        found = leader_worker_set()
        found["metadata"]["labels"] |= {MANAGER: "m"}
        found["metadata"]["annotations"] = {MANAGER_UID: "there"}
        made = stage.make(GROUPS, found)
        for index in (0, 1):
            copy = copy_of_group(workload_name(KIND, LWS_GROUP, f"llm-{index}", "there"), index)
            if owned:
                copy["metadata"]["ownerReferences"] = [owner_of(made)]
            stage.make(f"{KUEUE}/namespaces/default/workloads", copy)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            told = {one.name: one for one in await jobs(stage) if one.kind == LWS}
            assert {name: (one.priority, one.gates) for name, one in told.items()} == {
                "llm-0": (0, ()),
                "llm-1": (1, ()),
            }
            assert not told["llm-1"].finished
            assert told["llm-1"].uid == f"{made['metadata']['uid']}.1"

    run_virtually(run())


def copy_of_group(name: str, index: int) -> Object:
    """Return the copy of a group's Workload, which has the group's number as its priority."""
    podsets = [{"name": one, "count": 1, "template": pods_template()} for one in LWS_PODSETS]
    copy = kueue("Workload", name, queueName="main", podSets=podsets, priority=index)
    copy["metadata"]["labels"] = {MANAGER: "m"}
    copy["metadata"]["annotations"] = {IS_GROUP_WORKLOAD: "true", COMPONENT_INDEX: str(index)}
    return copy


def owner_of(made: Object) -> Object:
    head = {"apiVersion": f"{LWS_GROUP}/v1", "kind": KIND, "controller": True}
    return head | {key: made["metadata"][key] for key in ("name", "uid")}


def test_a_stateful_set_holds_its_quota_until_its_last_pod_is_gone() -> None:
    async def run() -> None:
        stage = served()
        made = stage.make(SETS, stateful())
        stage.make(PODS, pod("db-0", made, gated=False))
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda one: one.state.active == 1)
            stage.remove(f"{SETS}/db")
            await stage.hear(JobObserved, lambda one: one.state.deleting and one.state.active == 1)
            stage.remove(f"{PODS}/db-0")
            await stage.hear(ObjectGone, lambda one: one.resource == "statefulsets.apps")

    run_virtually(run())


def test_each_group_is_told_by_itself_and_gone_when_it_is_scaled_down() -> None:
    async def run() -> None:
        stage = served()
        made = stage.make(GROUPS, leader_worker_set())
        leaders = stage.make(SETS, stateful("llm", queue=""))
        stage.make(PODS, pod("llm-1", leaders, gated=False, name="llm", group_index="1"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            told = {one.name: one for one in await jobs(stage) if one.kind == LWS}
            assert sorted(told) == ["llm-0", "llm-1"]
            assert [told[name].state.active for name in sorted(told)] == [0, 1]
            stage.change(f"{GROUPS}/llm", {"spec": {"replicas": 1}})
            stage.remove(f"{PODS}/llm-1")
            uid = f"{made['metadata']['uid']}.1"
            await stage.hear(ObjectGone, lambda one: one.uid == uid)
        assert "llm-1" in await gone(stage)

    run_virtually(run())


def test_a_set_without_a_queue_is_nobodys_and_may_come_back() -> None:
    async def run() -> None:
        stage = served()
        stage.make(SETS, stateful())
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda one: one.queue == "main")
            label = "kueue.x-k8s.io/queue-name"
            stage.change(f"{SETS}/db", {"metadata": {"labels": {label: None}}})
            await stage.hear(JobObserved, lambda one: not one.queue)
            stage.change(f"{SETS}/db", {"metadata": {"labels": {label: "other"}}})
            await stage.hear(JobObserved, lambda one: one.queue == "other")

    run_virtually(run())


def test_a_pod_tells_of_its_own_group_and_of_no_other() -> None:
    kinds = list(JOB_KINDS.values())
    sets = ServingSets(kinds, JobIndex(kinds, Scope(), Claims({})))
    owner, made = stateful("llm", queue=""), leader_worker_set(replicas=300)
    made["metadata"] |= {"uid": "u", "namespace": "default", "resourceVersion": "5"}
    owner["metadata"] |= {"uid": "s", "namespace": "default"}
    found = pod("llm-7", owner, gated=False, name="llm", group_index="7")
    found["metadata"] |= {"uid": "p", "namespace": "default", "resourceVersion": "9"}
    assert not list(sets.observe(JOB_KINDS[LWS], read(made, JOB_KINDS[LWS].seen)))
    assert len(list(sets.listed((), 6))) == 300
    told = [one for _, one in sets.take(read(found, Pod))]
    assert [one.uid for one in told if isinstance(one, JobObserved)] == ["u.7"]
    assert [one.uid for _, one in sets.forget("p", 10) if isinstance(one, JobObserved)] == ["u.7"]
