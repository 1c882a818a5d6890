"""Jobs are defaulted, checked and run alike: by the embedded controllers and by the real ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.talking import Object, Talk, condition_status, container, job, pods_of
from tidegate.kube.ports import MERGE_PATCH

SELECTOR: Object = {"spec": {"template": {"spec": {"nodeSelector": {"kind": "big"}}}}}


async def test_a_job_gets_its_defaults(kube: Talk) -> None:
    made = await kube.make(kube.jobs, job("a", suspend=True))
    uid, spec = made["metadata"]["uid"], made["spec"]
    labels = {"controller-uid": uid, "job-name": "a"}
    labels |= {f"batch.kubernetes.io/{key}": value for key, value in labels.items()}
    assert made["metadata"]["labels"] == spec["template"]["metadata"]["labels"] == labels
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    rest = {key: value for key, value in spec.items() if key not in ("template", "selector")}
    assert rest == {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": True,
    }


async def test_a_template_gets_its_defaults(kube: Talk) -> None:
    body = job("a", suspend=True)
    body["spec"]["template"]["spec"] |= {
        "restartPolicy": "OnFailure",
        "initContainers": [{"name": "first", "image": "x"}],
    }
    made = await kube.make(kube.jobs, body)
    defaults = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    always = {"imagePullPolicy": "Always", "resources": {}}
    assert made["spec"]["template"]["spec"] == {
        "containers": [{**container(cpu="100m"), **defaults, "imagePullPolicy": "IfNotPresent"}],
        "initContainers": [{"name": "first", "image": "x", **defaults, **always}],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "OnFailure",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("1000m", "1"),
        ("2.5", "2500m"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("2000", "2k"),
        ("0.5", "500m"),
        ("1e3", "1e3"),
        ("1500", "1500"),
        ("1Gi", "1Gi"),
        ("0", "0"),
        ("128974848", "128974848"),
    ],
)
async def test_a_quantity_is_kept_in_one_form(kube: Talk, written: str, kept: str) -> None:
    body = job("a", suspend=True)
    body["spec"]["template"]["spec"]["containers"] = [container(memory=written)]
    made = await kube.make(kube.jobs, body)
    containers = made["spec"]["template"]["spec"]["containers"]
    assert containers[0]["resources"]["requests"] == {"memory": kept}


WRONG: list[tuple[str, Object, int, str]] = [
    ("negative", {"parallelism": -1}, 422, "spec.parallelism"),
    ("mode", {"completionMode": "Other"}, 422, "spec.completionMode"),
    ("indexed", {"completionMode": "Indexed", "parallelism": 1}, 422, "spec.completions"),
    ("type", {"suspend": "yes"}, 400, ""),
    ("number", {"parallelism": "two"}, 400, ""),
]


@pytest.mark.parametrize(
    ("spec", "code", "field"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
async def test_a_wrong_job_is_refused(kube: Talk, spec: Object, code: int, field: str) -> None:
    status, answer = await kube.send("POST", kube.jobs, job("a", **spec))
    assert status == code, answer
    fields = [cause["field"] for cause in answer.get("details", {}).get("causes", [])]
    assert not field or field in fields


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"restartPolicy": "Always"}, "restartPolicy"),
        ({"restartPolicy": None}, "restartPolicy"),
        ({"containers": []}, "containers"),
        ({"containers": [{"name": "a"}]}, "containers[0].image"),
        ({"containers": [container(cpu="-1")]}, "containers[0].resources.requests[cpu]"),
    ],
)
async def test_a_wrong_template_is_refused(kube: Talk, change: Object, field: str) -> None:
    body = job("a")
    body["spec"]["template"]["spec"] |= change
    status, answer = await kube.send("POST", kube.jobs, body)
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    fields = [cause["field"] for cause in answer["details"]["causes"]]
    assert f"spec.template.spec.{field}" in fields


async def test_a_suspended_job_has_no_pods_and_no_start(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    obj = await kube.until(
        f"{kube.jobs}/a", lambda obj: condition_status(obj, "Suspended") == "True"
    )
    assert "startTime" not in obj["status"]
    assert await pods_of(kube) == []


async def test_a_job_runs_to_its_end(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", completions=3, parallelism=2))
    done = await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Complete"))
    assert (condition_status(done, "Complete"), condition_status(done, "SuccessCriteriaMet")) == (
        "True",
        "True",
    )
    status = done["status"]
    assert (status["succeeded"], status["ready"], status["terminating"]) == (3, 0, 0)
    assert not status.keys() & {"active", "failed"}
    assert status["startTime"] <= status["completionTime"]
    assert [pod["status"]["phase"] for pod in await pods_of(kube)] == ["Succeeded"] * 3


async def test_a_pod_of_a_job_says_whose_it_is(kube: Talk) -> None:
    made = await kube.make(kube.jobs, job("a", seconds="3600"))
    await kube.until(f"{kube.jobs}/a", lambda obj: obj["status"].get("ready") == 1)
    (pod,) = await pods_of(kube)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": made["metadata"]["uid"]}
    owner |= {"controller": True, "blockOwnerDeletion": True}
    assert pod["metadata"]["ownerReferences"] == [owner]
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert pod["metadata"]["name"].startswith("a-")
    assert pod["metadata"]["labels"]["job-name"] == "a"


async def test_a_job_that_is_suspended_loses_its_pods_and_its_start(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", seconds="3600", parallelism=2, completions=2))
    running = await kube.until(path, lambda obj: obj["status"].get("ready") == 2)
    assert (running["status"]["active"], "startTime" in running["status"]) == (2, True)
    await kube.merge(path, {"spec": {"suspend": True}})
    stopped = await kube.until(path, lambda obj: condition_status(obj, "Suspended") == "True")
    assert not stopped["status"].keys() & {"startTime", "active", "failed"}
    await kube.until(kube.pods, lambda pod: pod["items"] == [])
    assert "failed" not in (await kube.get(path))["status"]


async def test_a_job_that_is_resumed_starts_anew(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", suspend=True))
    await kube.until(path, lambda obj: condition_status(obj, "Suspended") == "True")
    await kube.merge(path, {"spec": {"suspend": False}})
    done = await kube.until(path, lambda obj: condition_status(obj, "Complete"))
    assert (condition_status(done, "Suspended"), done["status"]["succeeded"]) == ("False", 1)
    assert "startTime" in done["status"]


async def test_a_running_jobs_template_is_immutable(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", seconds="3600"))
    await kube.until(path, lambda obj: obj["status"].get("startTime"))
    for patch in (SELECTOR, {"spec": {"suspend": True, **SELECTOR["spec"]}}):
        status, answer = await kube.send("PATCH", path, patch, MERGE_PATCH)
        assert (status, answer["reason"]) == (422, "Invalid"), answer
        fields = [cause["field"].partition(".spec")[0] for cause in answer["details"]["causes"]]
        assert fields == ["spec.template"]


async def test_a_template_waits_for_the_start_to_be_cleared(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", managedBy="example.com/other"))

    async def select() -> int:
        return (await kube.send("PATCH", path, SELECTOR, MERGE_PATCH))[0]

    assert await select() == 422  # it is not suspended
    started = {"active": 1, "ready": 1, "startTime": "2026-01-01T00:00:00Z"}
    await kube.merge(f"{path}/status", {"status": started})
    await kube.merge(path, {"spec": {"suspend": True}})
    assert await select() == 422  # it has started, and a pod is active
    await kube.merge(f"{path}/status", {"status": {"active": 0, "ready": 0}})
    assert await select() == 422  # it has started
    active = {"active": 1, "ready": 1, "startTime": None}
    await kube.merge(f"{path}/status", {"status": active})
    assert await select() == 422  # a pod is active
    await kube.merge(f"{path}/status", {"status": {"active": 0, "ready": 0}})
    assert await select() == 200


async def test_a_stopped_jobs_template_may_be_written_for_its_next_start(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", seconds="3600"))
    await kube.until(path, lambda obj: obj["status"].get("ready") == 1)
    await kube.merge(path, {"spec": {"suspend": True}})
    await kube.until(path, lambda obj: condition_status(obj, "Suspended") == "True")
    changed = await kube.merge(path, SELECTOR)
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"kind": "big"}


async def test_a_job_that_never_ran_is_started_by_one_patch(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", suspend=True, seconds="3600"))
    template: Object = {
        "metadata": {"labels": {"team": "x"}, "annotations": {"k": "v"}},
        "spec": {"tolerations": [{"key": "k", "operator": "Exists"}], "nodeSelector": {"a": "b"}},
    }
    patch = {"spec": {"suspend": False, "parallelism": 3, "template": template}}
    changed = await kube.merge(path, patch)
    assert changed["spec"]["template"]["spec"]["nodeSelector"] == {"a": "b"}
    await kube.until(path, lambda obj: obj["status"].get("active") == 1)
    (pod,) = await pods_of(kube)
    assert (pod["spec"]["nodeSelector"], pod["metadata"]["labels"]["team"]) == ({"a": "b"}, "x")


FIXED: list[tuple[str, Any]] = [
    ("completions", 5),
    ("completionMode", "Indexed"),
    ("selector", {"matchLabels": {"a": "b"}}),
    ("managedBy", "example.com/other"),
]


@pytest.mark.parametrize(("field", "value"), FIXED, ids=[row[0] for row in FIXED])
async def test_what_a_job_is_stays(kube: Talk, field: str, value: object) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    status, answer = await kube.send(
        "PATCH", f"{kube.jobs}/a", {"spec": {field: value}}, MERGE_PATCH
    )
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    assert f"spec.{field}" in [cause["field"] for cause in answer["details"]["causes"]]


async def test_an_image_of_a_suspended_job_stays(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    other = [{**container(cpu="100m"), "image": "example.com/other:1"}]
    patch = {"spec": {"template": {"spec": {"containers": other}}}}
    status, answer = await kube.send("PATCH", f"{kube.jobs}/a", patch, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid"), answer


async def test_the_start_of_a_running_job_cannot_be_cleared(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", seconds="3600"))
    await kube.until(path, lambda obj: obj["status"].get("startTime"))
    patch = {"status": {"startTime": None}}
    status, answer = await kube.send("PATCH", f"{path}/status", patch, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["status.startTime"]
