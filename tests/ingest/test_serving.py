"""StatefulSets and LeaderWorkerSets as ingest tells them, with their pods."""

from __future__ import annotations

import pytest

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from ingest.pods.referred_objects import Claims
from ingest.pods.serving import ServingSets
from ingest.resources import watched
from tests.ingest.scene import gone, jobs, rounds, session
from tests.parts.foreign import foreign_crd, pods_template
from tests.parts.stage import KUEUE, Object, Stage, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectGone, ObjectRefused
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.pods import pod as single
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


def test_a_stateful_set_is_reported_before_its_pods_come_and_as_they_stand() -> None:
    async def run() -> None:
        stage = served()
        made = stage.make(SETS, stateful())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            (job,) = await jobs(stage)
            assert (job.kind, job.name, job.uid) == (
                "statefulset",
                "db",
                made["metadata"]["uid"],
            )
            assert job.state.suspended
            stage.make(PODS, pod("db-0", made, gated=False))
            await stage.hear(JobObserved, lambda job: job.state.active == 1)
        (listed,) = await rounds(stage, "statefulsets.apps")
        assert job.uid in listed.present

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
        obj = pod("db-0", stage.make(SETS, stateful()), gated=False)
        obj["metadata"]["labels"] = {MANAGED: "true"}
        stage.make(PODS, obj)
        async with alongside(session(stage).run()):
            observations = await stage.hear(JobObserved, lambda job: job.state.active == 1)
            stage.change(f"{PODS}/db-0", patch)
            stray = await stage.hear(ObjectRefused, lambda obs: obs.name == "db-0")
            assert (stray.job.kind, stray.job.stray) == ("pod", "Unreadable")
            newest = [job for job in await jobs(stage) if job.uid == observations.uid][-1]
            assert newest.state.active == 1
            stage.remove(f"{PODS}/db-0")
            await stage.hear(
                JobObserved,
                lambda job: job.version > newest.version and job.uid == observations.uid,
            )
            assert [job for job in await jobs(stage) if job.uid == observations.uid][
                -1
            ].state.active == 0

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
            await stage.hear(JobObserved, lambda job: job.kind == "workload")
            obj = stateful()
            obj["metadata"]["annotations"] = {PREBUILT_WORKLOAD: "statefulset-db-1"}
            stage.make(SETS, obj)
            observations = await stage.hear(JobObserved, lambda job: job.kind == "statefulset")
            assert (observations.workload, observations.priority) == ("default/statefulset-db-1", 7)
            assert (observations.gates, observations.finished) == ((), "")
            stage.change(f"{SETS}/db", {"spec": {"replicas": 3}})
            await stage.hear(JobObserved, lambda job: job.finished == "OutOfSync")

    run_virtually(run())


@pytest.mark.parametrize("owned", [False, True], ids=["new", "its own by now"])
def test_the_groups_of_a_set_that_was_sent_join_their_copies(*, owned: bool) -> None:
    async def run() -> None:
        stage = served()
        obj = leader_worker_set()
        obj["metadata"]["labels"] |= {MANAGER: "m"}
        obj["metadata"]["annotations"] = {MANAGER_UID: "there"}
        made = stage.make(GROUPS, obj)
        for index in (0, 1):
            copy = copy_of_group(workload_name(KIND, LWS_GROUP, f"llm-{index}", "there"), index)
            if owned:
                copy["metadata"]["ownerReferences"] = [owner_of(made)]
            stage.make(f"{KUEUE}/namespaces/default/workloads", copy)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            mapping = {job.name: job for job in await jobs(stage) if job.kind == LWS}
            assert {name: (job.priority, job.gates) for name, job in mapping.items()} == {
                "llm-0": (0, ()),
                "llm-1": (1, ()),
            }
            assert not mapping["llm-1"].finished
            assert mapping["llm-1"].uid == f"{made['metadata']['uid']}.1"

    run_virtually(run())


def copy_of_group(name: str, index: int) -> Object:
    """Return the copy of a group's Workload, which has the group's number as its priority."""
    podsets = [{"name": podset, "count": 1, "template": pods_template()} for podset in LWS_PODSETS]
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
            await stage.hear(JobObserved, lambda job: job.state.active == 1)
            stage.remove(f"{SETS}/db")
            await stage.hear(JobObserved, lambda job: job.state.deleting and job.state.active == 1)
            stage.remove(f"{PODS}/db-0")
            await stage.hear(ObjectGone, lambda obs: obs.resource == "statefulsets.apps")

    run_virtually(run())


def test_each_group_is_reported_by_itself_and_gone_when_it_is_scaled_down() -> None:
    async def run() -> None:
        stage = served()
        made = stage.make(GROUPS, leader_worker_set())
        leaders = stage.make(SETS, stateful("llm", queue=""))
        stage.make(PODS, pod("llm-1", leaders, gated=False, name="llm", group_index="1"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            mapping = {job.name: job for job in await jobs(stage) if job.kind == LWS}
            assert sorted(mapping) == ["llm-0", "llm-1"]
            assert [mapping[name].state.active for name in sorted(mapping)] == [0, 1]
            stage.change(f"{GROUPS}/llm", {"spec": {"replicas": 1}})
            stage.remove(f"{PODS}/llm-1")
            uid = f"{made['metadata']['uid']}.1"
            await stage.hear(ObjectGone, lambda obs: obs.uid == uid)
        assert "llm-1" in await gone(stage)

    run_virtually(run())


def test_a_set_that_loses_its_queue_may_come_back() -> None:
    async def run() -> None:
        stage = served()
        stage.make(SETS, stateful())
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda job: job.queue == "main")
            label = "kueue.x-k8s.io/queue-name"
            stage.change(f"{SETS}/db", {"metadata": {"labels": {label: None}}})
            await stage.hear(JobObserved, lambda job: not job.queue)
            stage.change(f"{SETS}/db", {"metadata": {"labels": {label: "other"}}})
            await stage.hear(JobObserved, lambda job: job.queue == "other")

    run_virtually(run())


def test_a_pod_tells_of_its_own_group_and_of_no_other() -> None:
    kinds = list(JOB_KINDS.values())
    sets = ServingSets(kinds, JobIndex(kinds, Scope(), Claims({})))
    owner, made = stateful("llm", queue=""), leader_worker_set(replicas=300)
    made["metadata"] |= {"uid": "u", "namespace": "default", "resourceVersion": "5"}
    owner["metadata"] |= {"uid": "s", "namespace": "default"}
    obj = pod("llm-7", owner, gated=False, name="llm", group_index="7")
    obj["metadata"] |= {"uid": "p", "namespace": "default", "resourceVersion": "9"}
    assert not list(sets.observe(JOB_KINDS[LWS], read(made, JOB_KINDS[LWS].object_type)))
    assert len(list(sets.listed((), 6))) == 300
    assert not list(sets.add(read(obj, Pod)))
    observations = [obs for _, obs in sets.changed_jobs()]
    assert [obs.uid for obs in observations if isinstance(obs, JobObserved)] == ["u.7"]
    sets.forget("p", 10)
    assert [obs.uid for _, obs in sets.changed_jobs() if isinstance(obs, JobObserved)] == ["u.7"]


def test_a_set_is_observed_once_for_all_events_of_a_batch() -> None:
    """Each observation looks at all pods of the set: else it would cost their number squared."""
    kinds = [single.KIND, JOB_KINDS["statefulset"]]
    rows = {row.resource: row for row in watched(kinds)}
    owner, pods = stateful(replicas=9), rows["pods"]
    owner["metadata"] |= {"uid": "s", "namespace": "default", "resourceVersion": "5"}
    list(pods.listed(frozenset(), 1))
    list(rows[kinds[1].resource].observe(read(owner, kinds[1].object_type)))
    for number in range(9):
        obj = pod(f"db-{number}", owner)
        about = {"namespace": "default", "uid": f"u{number}", "resourceVersion": f"{number + 6}"}
        obj["metadata"] |= about
        assert list(pods.observe(read(obj, Pod))) == []
    [(_, observation)] = pods.changed_jobs()
    assert isinstance(observation, JobObserved)
    assert (observation.uid, observation.version) == ("s", 14)
    list(pods.gone("u8", 15))
    assert [obs.version for _, obs in pods.changed_jobs()] == [15]
    assert list(pods.changed_jobs()) == []
