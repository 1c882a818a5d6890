"""Groups of pods as ingest tells them: one job each, under the pods' resource."""

from __future__ import annotations

import asyncio

import pytest

from ingest.resources import watched
from tests.ingest.scene import gone, jobs, rounds, session
from tests.parts.foreign import pods_template
from tests.parts.stage import Object, Stage, alongside, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import (
    Heartbeat,
    JobObserved,
    ObjectGone,
    ObjectRefused,
    SyncCompleted,
)
from tidegate.jobs.pods import pod as single
from tidegate.jobs.pods import pod_group
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod

KUEUE = "kueue.x-k8s.io"
CREATED = "2026-03-01T08:00:00Z"
PODS = "/api/v1/namespaces/default/pods"


def member(name: str, *, total: str = "2", group: str = "crew", managed: bool = True) -> Object:
    template = pods_template()
    labels = {f"{KUEUE}/queue-name": "main", f"{KUEUE}/pod-group-name": group}
    labels |= {f"{KUEUE}/managed": "true"} if managed else {}
    annotations = {f"{KUEUE}/pod-group-total-count": total}
    gates = [{"name": f"{KUEUE}/admission"}]
    return {
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {**template["spec"], "schedulingGates": gates},
    }


def crewed() -> Stage:
    """Return a stage with both pods of a group."""
    stage = Stage()
    for name in ("one", "two"):
        stage.make(PODS, member(name))
    return stage


def test_a_group_is_reported_whole_and_is_present_in_every_list() -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        (job,) = await jobs(stage)
        assert (job.kind, job.name, job.queue) == ("pod-group", "crew", "main")
        assert [podset.count for podset in job.podsets] == [2]
        (listed,) = await rounds(stage, "pods")
        assert job.uid in listed.present
        assert job.round == listed.round

    run_virtually(run())


def test_a_group_that_is_listed_again_is_reported_by_the_list() -> None:
    """What is not told by a list and older than the newest one is taken for removed."""

    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            await stage.bus.observation_reader().request_resync("a restored cluster")
            listed = await stage.hear(
                SyncCompleted, lambda obs: (obs.resource, obs.round) == ("pods", 2)
            )
            *_, job = await jobs(stage)
        assert (job.kind, job.round) == ("pod-group", listed.round)

    run_virtually(run())


def test_a_group_is_reported_as_its_pods_come_and_gone_with_its_last() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(PODS, member("one"))
            await stage.hear(JobObserved, lambda job: not job.queue)
            stage.make(PODS, member("two"))
            whole = await stage.hear(JobObserved, lambda job: job.queue == "main")
            stage.remove(f"{PODS}/two")
            await stage.hear(JobObserved, lambda job: job.gates != ())
            stage.remove(f"{PODS}/one")
            await stage.hear(ObjectGone, lambda obs: obs.uid == whole.uid)
            await asyncio.sleep(1)
        assert sorted(await gone(stage)) == ["crew", "one", "two"]

    run_virtually(run())


def test_a_group_whose_pods_only_wait_for_others_is_no_job_where_the_namespace_is_deleted() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make("/api/v1/namespaces", {"metadata": {"name": "team"}})
        for name in ("one", "two"):
            obj = member(name)
            obj["metadata"]["finalizers"] = [f"{KUEUE}/managed"]
            stage.make("/api/v1/namespaces/team/pods", obj)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            assert [job.queue for job in await jobs(stage)] == ["main"]
            stage.remove("/api/v1/namespaces/team")
            await stage.hear(JobObserved, lambda job: not job.queue)

    run_virtually(run())


def test_pods_that_were_never_gated_are_ignored() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(PODS, member("one", managed=False))
        stage.make(PODS, member("two", managed=False))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert {job.queue for job in await jobs(stage)} == {""}

    run_virtually(run())


def test_a_group_that_makes_no_sense_is_refused_and_the_others_go_on() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(PODS, member("odd", total="none"))
            refused = await stage.hear(ObjectRefused, lambda obs: obs.name == "odd")
            assert "positive number" in refused.error
            for name in ("one", "two"):
                stage.make(PODS, member(name, group="good"))
            await stage.hear(JobObserved, lambda job: job.name == "good" and job.queue != "")

    run_virtually(run())


@pytest.mark.parametrize("name", ["y" * 5_000, "a b", "a\r\nPING\r\n", "Üy", "../x"])
def test_a_group_whose_name_no_workload_may_have_is_refused(name: str) -> None:
    async def run() -> None:
        stage, odd = Stage(), member("odd")
        odd["metadata"]["annotations"] |= {f"{KUEUE}/pod-group-name": name}
        del odd["metadata"]["labels"][f"{KUEUE}/pod-group-name"]
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(PODS, odd)
            refused = await stage.hear(ObjectRefused, lambda obs: obs.name == "odd")
            assert "no name of a Workload" in refused.error
        assert await jobs(stage) == []

    run_virtually(run())


def test_a_group_is_deactivated_by_its_workload() -> None:
    async def run() -> None:
        stage = crewed()
        podset = {"name": "main", "count": 2, "template": pods_template()}
        shown = kueue("Workload", "crew", queueName="main", podSets=[podset], active=False)
        shown["metadata"]["annotations"] = {f"{KUEUE}/is-group-workload": "true"}
        stage.make("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads", shown)
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda job: not job.active)
        assert {job.kind for job in await jobs(stage)} == {"pod-group"}

    run_virtually(run())


def running(stage: Stage) -> None:
    """Let both pods of a group go, as a start does."""
    for name in ("one", "two"):
        marks = {"tidegate.dev/decision": "l/7", "tidegate.dev/group-uid": "g.group"}
        stage.change(f"{PODS}/{name}", {"metadata": {"annotations": marks}})
        stage.change(f"{PODS}/{name}", {"spec": {"schedulingGates": []}})


def renamed(label: str, value: str | None) -> Object:
    return {"metadata": {"labels": {f"{KUEUE}/{label}": value}}}


LARGER: Object = {"metadata": {"annotations": {f"{KUEUE}/pod-group-total-count": "3"}}}
LEFT = {
    "another group": renamed("pod-group-name", "other"),
    "no group": renamed("pod-group-name", None),
    "not managed": renamed("managed", None),
}


@pytest.mark.parametrize("patch", [LARGER, *LEFT.values()], ids=["larger", *LEFT])
def test_a_running_group_whose_pods_disagree_must_not_run(patch: Object) -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            running(stage)
            observations = await stage.hear(JobObserved, lambda job: job.state.active == 2)
            stage.change(f"{PODS}/two", patch)
            refused = await stage.hear(ObjectRefused, lambda obs: obs.uid == observations.uid)
        assert refused.job is not None
        assert (refused.job.stray, refused.job.workload) == ("Unreadable", observations.workload)
        assert (refused.job.state.active, refused.job.state.decision) == (2, "l/7")

    run_virtually(run())


def test_a_group_whose_pods_disagree_is_present_in_the_list_of_the_next_session() -> None:
    async def run() -> None:
        stage = crewed()
        running(stage)
        stage.change(f"{PODS}/two", LARGER)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            refused = await stage.hear(ObjectRefused, lambda obs: obs.uid == "g.group")
        (listed,) = await rounds(stage, "pods")
        assert refused.uid in listed.present

    run_virtually(run())


@pytest.mark.parametrize("patch", LEFT.values(), ids=LEFT)
def test_a_running_pod_that_leaves_its_group_must_not_run_and_counts_until_it_is_gone(
    patch: Object,
) -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            running(stage)
            observations = await stage.hear(JobObserved, lambda job: job.state.active == 2)
            stage.change(f"{PODS}/two", patch)
            stray = await stage.hear(ObjectRefused, lambda obs: obs.name == "two")
            assert (stray.job.kind, stray.job.stray) == ("pod", "Unreadable")
            stage.remove(f"{PODS}/two")
            again = await stage.hear(JobObserved, lambda job: job.version > observations.version)
            assert (again.uid, again.state.active) == (observations.uid, 1)
            stage.remove(f"{PODS}/one")
            await stage.hear(ObjectGone, lambda obs: obs.uid == observations.uid)

    run_virtually(run())


def test_a_waiting_pod_that_disagrees_stops_no_running_group_and_keeps_no_quota() -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            running(stage)
            observations = await stage.hear(JobObserved, lambda job: job.state.active == 2)
            for name in ("odd", "odder"):
                stage.make(PODS, member(name, total=name))
            await stage.hear(ObjectRefused, lambda obs: obs.name == "odder" and obs.job is None)
            assert all(
                obs.uid != observations.uid
                for obs in await stage.heard()
                if type(obs) is ObjectRefused
            )
            for name in ("one", "two"):
                stage.remove(f"{PODS}/{name}")
            await stage.hear(ObjectGone, lambda obs: obs.uid == observations.uid)

    run_virtually(run())


def test_a_waiting_pod_that_names_another_group_goes_there() -> None:
    async def run() -> None:
        stage = crewed()
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            (job,) = await jobs(stage)
            for name in ("one", "two"):
                stage.change(f"{PODS}/{name}", LEFT["another group"])
            await stage.hear(JobObserved, lambda job: job.name == "other" and job.queue != "")
            await stage.hear(ObjectGone, lambda obs: obs.uid == job.uid and obs.name == "crew")

    run_virtually(run())


def test_a_group_is_observed_once_for_all_events_of_a_batch() -> None:
    """Each observation looks at all pods of the group: else it would cost their number squared."""
    [row] = [row for row in watched([single.KIND, pod_group.KIND]) if row.resource == "pods"]
    list(row.listed(frozenset(), 1))
    for number in range(9):
        obj = member(f"p{number}", total="9")
        obj["metadata"] |= {"namespace": "default", "uid": f"u{number}"}
        obj["metadata"] |= {"resourceVersion": str(number + 2), "creationTimestamp": CREATED}
        assert list(row.observe(read(obj, Pod))) == []
    [(_, result)] = row.changed_jobs()
    assert isinstance(result, JobObserved)
    assert (result.version, result.podsets[0].count) == (10, 9)
    assert list(row.changed_jobs()) == []
