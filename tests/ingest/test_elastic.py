"""Elastic jobs are told as such where that is enabled, by the Workload that stands for them now."""

from __future__ import annotations

import pytest

from ingest.jobs.scope import Scope
from tests.ingest.scene import jobs, session
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectRefused

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
ELASTIC = "kueue.x-k8s.io/elastic-job"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
AT = "2026-03-01T08:00:00Z"
OPEN = Scope(elastic=True)


def elastic(**labels: str) -> Object:
    found = job()
    found["metadata"]["annotations"] = {ELASTIC: "true"}
    found["metadata"]["labels"] |= labels
    return found


def workload(name: str, owner: Object, *, active: bool, **marks: str) -> Object:
    podsets = [{"name": "main", "count": 1, "template": job()["spec"]["template"]}]
    found = kueue("Workload", name, queueName="main", podSets=podsets, active=active)
    head = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    found["metadata"]["ownerReferences"] = [{**head, "uid": owner["metadata"]["uid"]}]
    found["metadata"]["annotations"] = {ELASTIC: "true", "tidegate.dev/decision": "L1/1", **marks}
    return found


def say(stage: Stage, name: str, *kinds: str) -> None:
    told = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": AT}
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]}
    status = {"conditions": [{"type": one, **told} for one in kinds], "admission": admission}
    stage.change(f"{WORKLOADS}/{name}/status", {"status": status})


def test_wishes_stand_on_the_workload_that_runs_and_then_on_its_heir() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, elastic())
        stage.make(WORKLOADS, workload("one", made, active=True))
        say(stage, "one", "QuotaReserved")
        stage.make(WORKLOADS, workload("two", made, active=False, **{REPLACES: "default/one"}))
        async with alongside(session(stage, scope=OPEN).run()):
            await stage.hear(Heartbeat)
            assert [one.active for one in await jobs(stage)][-1]
            say(stage, "two", "QuotaReserved")
            await stage.hear(JobObserved, lambda one: not one.active)
            say(stage, "one", "QuotaReserved", "Finished")
            stage.change(f"{JOBS}/train", {"metadata": {"labels": {"kueue.x-k8s.io/q": "x"}}})
            stage.change(f"{WORKLOADS}/two", {"spec": {"active": True}})
            await stage.hear(JobObserved, lambda one: one.version > 9 and one.active)
        assert all(one.elastic for one in await jobs(stage))

    run_virtually(run())


def test_an_heir_that_was_evicted_is_activated_through_its_workload() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, elastic())
        heir = workload("two", made, active=False, **{REPLACES: "default/one"})
        stage.make(WORKLOADS, heir)
        say(stage, "two", "Evicted")  # the one that it replaced has expired
        async with alongside(session(stage, scope=OPEN).run()):
            await stage.hear(JobObserved, lambda one: not one.active)
            stage.change(f"{WORKLOADS}/two", {"spec": {"active": True}})
            await stage.hear(JobObserved, lambda one: one.active and one.version > 3)
        assert (await jobs(stage))[-1].active

    run_virtually(run())


@pytest.mark.parametrize(
    ("scope", "labels", "said"),
    [
        (Scope(), {}, "open the feature gate ElasticJobsViaWorkloadSlices"),
        (OPEN, {"kueue.x-k8s.io/prebuilt-workload-name": "w"}, "An elastic job has no"),
    ],
)
def test_what_is_not_enabled_or_makes_no_sense_is_refused(
    scope: Scope, labels: dict[str, str], said: str
) -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, elastic(**labels))
        async with alongside(session(stage, scope=scope).run()):
            refused = await stage.hear(ObjectRefused)
        assert said in refused.error

    run_virtually(run())
