"""For which Workloads an object was sent to a worker cluster: for one, or for one a group."""

from __future__ import annotations

from msgspec.structs import replace

from dispatcher.adapters import copies
from dispatcher.adapters.jobs import remote_job, spec_patch, status_patch
from tests.dispatcher.test_copies import ORIGIN
from tidegate.jobs.job_metadata import workload_name
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.serving.leader_worker_set import NAME as LWS
from tidegate.jobs.serving.members import GROUPS_MAX
from tidegate.kinds import names
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.model.ids import ObjectRef


def test_a_leader_worker_set_is_sent_for_the_workloads_of_all_its_groups() -> None:
    kind = JOB_KINDS[LWS]
    meta = {"namespace": "a", "name": "llm", "uid": "u", "labels": {}}
    local: Object = {"metadata": meta, "spec": {"replicas": 2}, "status": {"replicas": 0}}
    made = remote_job(kind, local, "leaderworkerset-llm-0-1", ORIGIN)
    assert made["metadata"]["annotations"] == {names.MANAGER_UID: "u"}
    called = [workload_name(kind.kind, kind.group, f"llm-{index}", "u") for index in (0, 1)]
    assert copies.workloads_of(kind, made) == tuple(f"a/{name}" for name in called)
    assert status_patch(kind, local, {**made, "status": {"readyReplicas": 2}}) is None
    grown = {**local, "spec": {"replicas": 3}}
    assert spec_patch(kind, grown, made) == {"spec": {"replicas": 3}}
    job = ObjectRef(kind=LWS, namespace="a", name="llm-1", uid="u.1")
    assert copies.is_copy_of_job(kind, made, job, f"a/{called[1]}")
    assert not copies.is_copy_of_job(kind, made, replace(job, uid="before.1"), f"a/{called[1]}")


def test_an_object_of_a_hostile_worker_was_sent_for_no_workload() -> None:
    meta = {"namespace": "a", "name": "llm", "labels": {}, "annotations": {names.MANAGER_UID: "u"}}
    remote: Object = {"metadata": meta, "spec": {"replicas": 2}}
    assert copies.workloads_of(JOB_KINDS[LWS], remote) == (), "it bears no origin"
    meta["labels"] = {names.MANAGER: ORIGIN}
    assert copies.workloads_of(JOB_KINDS[LWS], {**remote, "spec": {"replicas": "x"}}) == ()
    many = copies.workloads_of(JOB_KINDS[LWS], {**remote, "spec": {"replicas": 10**9}})
    assert len(many) == GROUPS_MAX


def test_a_job_of_its_name_of_before_is_no_jobs_own() -> None:
    job = ObjectRef(kind="batch/job", namespace="a", name="train", uid="u")
    remote: Object = {"metadata": {"annotations": {PREBUILT_WORKLOAD: "job-train-1"}}}
    kind = JOB_KINDS["batch/job"]
    assert copies.is_copy_of_job(kind, remote, job, "a/job-train-1")
    assert not copies.is_copy_of_job(kind, remote, job, "a/job-train-2")
