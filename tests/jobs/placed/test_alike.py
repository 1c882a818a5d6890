"""A copy requests what its job requests: unless a user changes it, it is as it was charged."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.parts.foreign import jobset
from tests.parts.stage import job
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.contracts.observed.clusters import CopySeen
from tidegate.core.accepting.jobs.mismatches import report_copy_mismatch
from tidegate.core.state.state import Workload
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.placed.body import body_of, digest_of
from tidegate.jobs.placed.copy import Identity, copy_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment

LIMITED = {"name": "l", "image": "i", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
PODS: dict[str, Object] = {
    "plain": {},
    "limits": {"containers": [LIMITED]},
    "sidecars": {"initContainers": [{**LIMITED, "restartPolicy": "Always"}]},
    "whole pods": {"resources": {"requests": {"cpu": "3"}}},
    "overhead": {"overhead": {"cpu": "100m"}, "runtimeClassName": "kata"},
    "claims": {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "gpus"}]},
    "gates": {"schedulingGates": [{"name": names.ELASTIC_JOB}, {"name": "example.com/mine"}]},
    "places": {"nodeSelector": {"size": "big"}, "tolerations": [{"operator": "Exists"}]},
}
NOTES = {
    names.MIN_PARALLELISM: "1",
    names.PREFERRED_TOPOLOGY: "rack",
    names.ADMISSION_GATED_BY: "mine",
}


def of_kind(name: str, pods: Object) -> tuple[JobKind[object], Object]:
    if name == "jobset":
        made = jobset("train", "default", seconds=1)
        template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    else:
        made = job("train", parallelism=4, completions=6)
        made["metadata"]["annotations"] = dict(NOTES)
        template = made["spec"]["template"]
    template["metadata"] = {"annotations": {names.PREFERRED_TOPOLOGY: "rack"}}
    template["spec"] |= pods
    made["metadata"] |= {"namespace": "default", "uid": "u1"}
    made["spec"] |= {"managedBy": names.PLACED, "suspend": True}
    kinds = {"job": "batch/job", "jobset": "jobset.x-k8s.io/jobset"}
    return JOB_KINDS[kinds[name]], made


def observed(kind: JobKind[object], obj: Object) -> JobObserved:
    return kind.observe(read(obj, kind.object_type))


@pytest.mark.parametrize("pods", PODS)
@pytest.mark.parametrize("name", ["job", "jobset"])
def test_an_unchanged_copy_differs_in_nothing(name: str, pods: str) -> None:
    kind, home = of_kind(name, PODS[pods])
    body = body_of(kind, home)
    identity = Identity(
        kind=kind, namespace="default", name="train", digest=digest_of(body), origin="u1@east"
    )
    made = copy_of(body, identity)
    made["metadata"]["uid"] = "u2"
    here, there = observed(kind, home), observed(kind, made)
    workload = Workload(
        key="default/w",
        uid="u1@east",
        job=ObjectRef(kind=kind.name, namespace="default", name="train", uid="u1@east"),
        queue="main",
        podsets=here.podsets,
        phase="admitted",
        assignment=tuple(
            PodSetAssignment(name=podset.name, count=podset.count, flavors={}, usage={})
            for podset in here.podsets
        ),
    )
    for state in (JobState(), JobState(suspended=False, started=True, active=1)):
        observation = replace(there, copy=CopySeen(origin="u1@east"), state=state)
        assert not list(report_copy_mismatch(1, observation, workload))
    podsets = tuple(replace(podset, count=podset.count + 1) for podset in there.podsets)
    assert list(report_copy_mismatch(1, replace(observation, podsets=podsets), workload))
