"""How Jobs end, shrink and are left alone: by the embedded controllers and by the real ones."""

from __future__ import annotations

from tests.cluster.talking import Object, Talk, condition_status, job, pods_of


async def test_a_job_that_another_manages_gets_no_pods(kube: Talk) -> None:
    await kube.make(kube.jobs, job("other", managedBy="example.com/other"))
    await kube.make(kube.jobs, job("ours"))
    await kube.until(f"{kube.jobs}/ours", lambda obj: condition_status(obj, "Complete"))
    assert {pod["metadata"]["labels"]["job-name"] for pod in await pods_of(kube)} == {"ours"}


async def test_a_job_that_fails_too_often_ends(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", exit_code="3", backoffLimit=0))
    ended = await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Failed"))
    assert (condition_status(ended, "Failed"), condition_status(ended, "FailureTarget")) == (
        "True",
        "True",
    )
    reasons = [condition["reason"] for condition in ended["status"]["conditions"]]
    assert reasons == ["BackoffLimitExceeded"] * 2
    assert (ended["status"]["failed"], "completionTime" in ended["status"]) == (1, False)


async def test_a_job_that_takes_too_long_ends(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", seconds="3600", activeDeadlineSeconds=1))
    ended = await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Failed"))
    assert ended["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"
    await kube.until(kube.pods, lambda pod: pod["items"] == [])


async def test_an_indexed_job_numbers_its_pods(kube: Talk) -> None:
    spec: Object = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}
    await kube.make(kube.jobs, job("a", **spec))
    done = await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Complete"))
    assert (done["status"]["completedIndexes"], done["status"]["succeeded"]) == ("0-3", 4)
    key = "batch.kubernetes.io/job-completion-index"
    pods = await pods_of(kube)
    assert sorted(pod["metadata"]["annotations"][key] for pod in pods) == list("0123")
    assert sorted(pod["metadata"]["labels"][key] for pod in pods) == list("0123")
    assert sorted(pod["spec"]["hostname"] for pod in pods) == [f"a-{n}" for n in range(4)]


async def test_a_job_that_shrinks_loses_pods_without_a_failure(kube: Talk) -> None:
    path = f"{kube.jobs}/a"
    await kube.make(kube.jobs, job("a", seconds="3600", parallelism=3, completions=5))
    await kube.until(path, lambda obj: obj["status"].get("ready") == 3)
    await kube.merge(path, {"spec": {"parallelism": 1}})
    obj = await kube.until(path, lambda obj: obj["status"].get("active") == 1)
    assert "failed" not in obj["status"]
    await kube.until(kube.pods, lambda listed: len(listed["items"]) == 1)


async def test_a_finished_job_goes_when_its_time_is_over(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", ttlSecondsAfterFinished=1))
    await kube.until(kube.jobs, lambda candidate_job: candidate_job["items"] == [])
    await kube.until(kube.pods, lambda pod: pod["items"] == [])
