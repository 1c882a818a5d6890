"""Devices that a job's pods claim by template are reported as what they are charged."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import structs

from ingest.pods.referred_objects import RESOURCE, Claims
from ingest.resources import watched
from tests.core.telling import job as job_observed
from tests.ingest.scene import session
from tests.parts.foreign import foreign_crd
from tests.parts.stage import CRDS, JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved
from tidegate.jobs.batch import batch_job
from tidegate.kinds.decode import read
from tidegate.kinds.observed import ResourceClaimTemplate
from tidegate.model.podset import PodSet

TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
CLASSES = {"gpus.example.com": "example.com/devices"}
ASKED = {"example.com/devices": 5}


def template(*requests: Object) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpus"},
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def request(count: int, of: str = "gpus.example.com", **more: Any) -> Object:  # noqa: ANN401 - fields of a request
    return {"name": "r", "exactly": {"deviceClassName": of, "count": count, **more}}


def claiming() -> Object:
    obj = job()
    claim = {"name": "c", "resourceClaimTemplateName": "gpus"}
    obj["spec"]["template"]["spec"]["resourceClaims"] = [claim]
    return obj


def test_a_job_waits_for_its_template_and_asks_for_its_devices_then() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("claims"))
        stage.make(JOBS, claiming())
        async with alongside(session(stage, device_classes=CLASSES).run()):
            await stage.hear(
                JobObserved,
                lambda observation: observation.gates == ("ResourceClaimTemplate/gpus",),
            )
            stage.make(TEMPLATES, template(request(2), request(3)))
            observations = await stage.hear(
                JobObserved, lambda observation: observation.gates == ()
            )
            assert observations.podsets[0].devices == ASKED
            stage.remove(f"{TEMPLATES}/gpus")
            await asyncio.sleep(5)
            heard = [
                observation
                for observation in await stage.heard()
                if isinstance(observation, JobObserved)
            ]
            assert heard[-1].gates == ("ResourceClaimTemplate/gpus",)

    run_virtually(run())


@pytest.mark.parametrize(
    ("obj", "gate"),
    [
        (template(request(1, of="other.example.com")), "DeviceClass/other.example.com"),
        (template(request(1, allocationMode="All")), "ResourceClaimTemplate/gpus"),
        (template({"name": "r", "firstAvailable": []}), "ResourceClaimTemplate/gpus"),
    ],
)
def test_a_claim_that_cannot_be_counted_holds_its_job(obj: Object, gate: str) -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("claims"))
        stage.make(TEMPLATES, obj)
        stage.make(JOBS, claiming())
        async with alongside(session(stage, device_classes=CLASSES).run()):
            await stage.hear(Heartbeat)
            await stage.hear(JobObserved, lambda observation: observation.gates == (gate,))

    run_virtually(run())


def test_a_template_made_anew_while_no_ingest_watched_counts_as_it_is() -> None:
    claims = Claims(CLASSES)
    for uid, count in (("old", 1), ("new", 8)):
        claims.add(made(uid, request(count)))
    claims.listed({"new"})
    observation = observed(claims)
    assert (observation.gates, observation.podsets[0].devices) == ((), {"example.com/devices": 8})


def test_a_job_is_reported_with_what_its_templates_ask_for_whatever_they_are_charged_as() -> None:
    claimed = set[str]()
    for requests in ([request(1)], [request(8)], [request(1, allocationMode="All")]):
        for classes in (CLASSES, {}):
            claims = Claims(classes)
            claims.add(made("one", *requests))
            claimed.add(observed(claims).podsets[0].claimed)
    assert len(claimed) == len({"one", "eight", "all"})
    assert "" not in claimed
    assert observed(Claims(CLASSES)).podsets[0].claimed == ""


def made(uid: str, *requests: Object) -> ResourceClaimTemplate:
    meta = {"name": "gpus", "namespace": "default", "uid": uid}
    return msgspec.convert(template(*requests) | {"metadata": meta}, ResourceClaimTemplate)


def observed(claims: Claims) -> JobObserved:
    """Return a job that claims by the template, as it is reported."""
    observation = job_observed("train", version=1, podsets=(PodSet(claims=("gpus",)),))
    return claims.resolve(structs.replace(observation, namespace="default"))


def test_without_any_mapping_a_claim_holds_its_job_and_names_the_class() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("claims"))
        stage.make(TEMPLATES, template(request(1)))
        stage.make(JOBS, claiming())
        gate = "DeviceClass/gpus.example.com"
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda observation: observation.gates == (gate,))

    run_virtually(run())


def test_a_claim_that_pods_share_holds_their_job() -> None:
    async def run() -> None:
        stage = Stage()
        obj = claiming()
        claim = {"name": "c", "resourceClaimName": "ours"}
        obj["spec"]["template"]["spec"]["resourceClaims"] = [claim]
        stage.make(JOBS, obj)
        async with alongside(session(stage, device_classes=CLASSES).run()):
            await stage.hear(
                JobObserved, lambda observation: observation.gates == ("ResourceClaim/ours",)
            )

    run_virtually(run())


def test_a_workload_that_was_made_directly_claims_devices_too() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("claims"))
        podset = {"name": "main", "count": 1, "template": claiming()["spec"]["template"]}
        path = f"{KUEUE}/namespaces/default/workloads"
        stage.make(path, kueue("Workload", "mine", queueName="main", podSets=[podset]))
        async with alongside(session(stage, device_classes=CLASSES).run()):
            await stage.hear(
                JobObserved,
                lambda observation: observation.gates == ("ResourceClaimTemplate/gpus",),
            )
            stage.make(TEMPLATES, template(request(5)))
            observations = await stage.hear(
                JobObserved, lambda observation: observation.gates == ()
            )
            assert observations.podsets[0].devices == ASKED

    run_virtually(run())


def test_a_template_that_no_job_names_or_that_asks_for_the_same_changes_no_job() -> None:
    rows = {row.resource: row for row in watched([batch_job.KIND], device_classes=CLASSES)}

    def reported(obj: Object, row: str, kind: type[Any]) -> int:
        obj["metadata"] |= {"namespace": "default", "uid": obj["metadata"]["name"]}
        return len(list(rows[row].observe(read(obj, kind))))

    waits = claiming()
    waits["metadata"]["creationTimestamp"] = "2026-03-01T08:00:00Z"
    assert reported(waits, batch_job.KIND.resource, batch_job.KIND.object_type) == 1
    first, other = template(request(2)), template(request(3))
    other["metadata"]["name"] = "other"
    counts = [reported(obj, RESOURCE, ResourceClaimTemplate) for obj in (first, first, other)]
    assert counts == [1, 0, 0]
