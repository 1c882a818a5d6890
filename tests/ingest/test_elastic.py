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
    obj = job()
    obj["metadata"]["annotations"] = {ELASTIC: "true"}
    obj["metadata"]["labels"] |= labels
    return obj


def workload(name: str, owner: Object, *, active: bool, **marks: str) -> Object:
    podsets = [{"name": "main", "count": 1, "template": job()["spec"]["template"]}]
    obj = kueue("Workload", name, queueName="main", podSets=podsets, active=active)
    head = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    obj["metadata"]["ownerReferences"] = [{**head, "uid": owner["metadata"]["uid"]}]
    obj["metadata"]["annotations"] = {ELASTIC: "true", "tidegate.dev/decision": "L1/1", **marks}
    return obj


def say(stage: Stage, name: str, *kinds: str) -> None:
    fields = {"status": "True", "reason": "r", "message": "m", "lastTransitionTime": AT}
    admission = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]}
    status = {"conditions": [{"type": kind, **fields} for kind in kinds], "admission": admission}
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
            assert [observation.active for observation in await jobs(stage)][-1]
            say(stage, "two", "QuotaReserved")
            await stage.hear(JobObserved, lambda observation: not observation.active)
            say(stage, "one", "QuotaReserved", "Finished")
            stage.change(f"{JOBS}/train", {"metadata": {"labels": {"kueue.x-k8s.io/q": "x"}}})
            stage.change(f"{WORKLOADS}/two", {"spec": {"active": True}})
            await stage.hear(
                JobObserved, lambda observation: observation.version > 9 and observation.active
            )
        assert all(observation.elastic for observation in await jobs(stage))

    run_virtually(run())


def test_an_heir_that_was_evicted_is_activated_through_its_workload() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, elastic())
        heir = workload("two", made, active=False, **{REPLACES: "default/one"})
        stage.make(WORKLOADS, heir)
        say(stage, "two", "Evicted")  # the one that it replaced has expired
        async with alongside(session(stage, scope=OPEN).run()):
            await stage.hear(JobObserved, lambda observation: not observation.active)
            stage.change(f"{WORKLOADS}/two", {"spec": {"active": True}})
            await stage.hear(
                JobObserved, lambda observation: observation.active and observation.version > 3
            )
        assert (await jobs(stage))[-1].active

    run_virtually(run())


@pytest.mark.parametrize(
    ("scope", "labels", "text"),
    [
        (Scope(), {}, "open the feature gate ElasticJobsViaWorkloadSlices"),
        (OPEN, {"kueue.x-k8s.io/prebuilt-workload-name": "w"}, "An elastic job has no"),
    ],
)
def test_what_is_not_enabled_or_makes_no_sense_is_refused(
    scope: Scope, labels: dict[str, str], text: str
) -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, elastic(**labels))
        async with alongside(session(stage, scope=scope).run()):
            refused = await stage.hear(ObjectRefused)
        assert text in refused.error

    run_virtually(run())
