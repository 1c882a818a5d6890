"""Copies on worker clusters: what goes there, what is compared, and what comes back.

Source: multikueue.md 2.2, 2.5, 3.1, 3.2.
"""

from __future__ import annotations

import pytest

from dispatcher.adapters import copies
from dispatcher.adapters.jobs import remote_job, spec_patch, status_patch
from dispatcher.manager.conditions import active_patch, check_patch
from dispatcher.workers import groups
from tests.jobs.test_managed_by import KINDS, queued
from tests.multikueue.world import member
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.jobs.kind import Object
from tidegate.jobs.pods.pod_roles import role
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.templates.paths import value_at, with_value
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.kinds.pods import Pod
from tidegate.model.multikueue import ADAPTERS, CONTROLLER

ORIGIN = "manager-1"
AT = "2026-01-01T00:00:05Z"


def workload(**spec: object) -> Object:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "namespace": "a",
            "name": "job-train-1",
            "uid": "u",
            "resourceVersion": "7",
            "labels": {"kueue.x-k8s.io/job-uid": "j", "mine": "1"},
            "annotations": {"tidegate.dev/decision": "l/1", "note": "2"},
            "ownerReferences": [{"uid": "j"}],
            "finalizers": ["f"],
        },
        "spec": {"queueName": "main", "podSets": [{"name": "main"}], "priority": 5, **spec},
        "status": {"conditions": []},
    }


def test_a_copy_has_no_owner_and_no_status() -> None:
    local = workload()
    made = copies.workload_copy(local, ORIGIN)
    assert made["metadata"] == {
        "namespace": "a",
        "name": "job-train-1",
        "labels": {"mine": "1", names.MANAGER: ORIGIN},
        "annotations": {"note": "2"},
    }
    assert made["spec"] == local["spec"]
    assert "status" not in made
    assert copies.is_copy_of_origin(made, ORIGIN)
    assert not copies.is_copy_of_origin(made, "manager-2")
    assert not copies.is_copy_of_origin({"metadata": {"labels": {names.MANAGER: ""}}}, "")


def test_gates_of_preemption_and_the_default_of_active_make_no_difference() -> None:
    assert not copies.differs(workload(), workload(active=True, preemptionGates=[{"name": "x"}]))
    assert copies.differs(workload(), workload(active=False))


def test_another_priority_is_copied_in_place_and_nothing_else_is() -> None:
    high = workload(priority=9, priorityClassRef={"name": "high"})
    patch = copies.priority_patch(high, workload())
    assert patch == {"spec": {"priority": 9, "priorityClassRef": {"name": "high"}}}
    assert copies.priority_patch(high, workload(queueName="other")) is None
    assert copies.priority_patch(high, high) is None


def test_a_copys_conditions_are_read_with_their_times() -> None:
    conditions = [
        {"type": "QuotaReserved", "status": "True", "lastTransitionTime": AT},
        {"type": "Admitted", "status": "True", "lastTransitionTime": AT},
        {"type": "Evicted", "status": "False", "lastTransitionTime": AT},
        {"type": "Finished", "status": "True", "lastTransitionTime": AT, "reason": "Succeeded"},
    ]
    at_us = 1_767_225_605_000_000
    remote = {**workload(), "status": {"conditions": conditions}}
    observation = copies.read_copy(workload(), remote, job=True, foreign=False, synced=True)
    wanted = RemoteCopy(reserved=True, admitted_us=at_us, finished_us=at_us, reason="Succeeded")
    assert (observation.reserved, observation.admitted_us, observation.evicted_us) == (
        True,
        at_us,
        0,
    )
    assert (observation.finished_us, observation.reason) == (wanted.finished_us, wanted.reason)


@pytest.mark.parametrize("reason", ["", "of two words", "1st", "A\n", "é", "A" * 1_025])
def test_a_reason_that_could_not_be_shown_here_is_unknown(reason: str) -> None:
    condition = {"type": "Finished", "status": "True", "lastTransitionTime": AT, "reason": reason}
    remote = {**workload(), "status": {"conditions": [condition]}}
    copy = copies.read_copy(workload(), remote, foreign=False, synced=False)
    assert (copy.reason, bool(copy.finished_us)) == ("Unknown", True)


@pytest.mark.parametrize("name", [adapter for adapter in ADAPTERS if adapter in KINDS])
def test_a_jobs_copy_is_run_there_and_names_its_workload(name: str) -> None:
    kind = KINDS[name]
    assert kind.managed_by is not None, "only such kinds"
    local = with_value(queued(kind), kind.managed_by.path, CONTROLLER)
    local = with_value(local, ("metadata", "labels", PREBUILT_WORKLOAD), "of-another-job")
    made = remote_job(kind, local, "job-train-1", ORIGIN)
    assert value_at(made, kind.managed_by.path) is None
    assert copies.prebuilt_of(made) == "job-train-1"
    assert PREBUILT_WORKLOAD not in made["metadata"]["labels"]
    assert (made["apiVersion"], made["kind"]) == (kind.api_version, kind.kind)
    assert not {"status", "uid", "ownerReferences"} & {*made, *made["metadata"]}
    seen = {**made, "status": {"phase": "Any"}}
    if name != "batch/job":
        assert status_patch(kind, {**local, "status": {}}, seen) == {"status": {"phase": "Any"}}
        assert status_patch(kind, {**local, "status": {"phase": "Any"}}, seen) is None


def test_a_gated_pod_stays_unscheduled_and_without_an_address() -> None:
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    local: Object = {
        "metadata": {"name": "p"},
        "spec": {"schedulingGates": [{"name": "g"}]},
        "status": {"phase": "Pending", "conditions": [gated]},
    }
    waits = {**local, "status": {"phase": "Pending", "conditions": []}}
    runs = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    there = {**runs, "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "hostIP": "10.1.0.1"}
    kind = JOB_KINDS["pod"]
    assert status_patch(kind, local, waits) is None
    assert status_patch(kind, local, {**local, "status": there}) == {
        "status": {"phase": "Running", "conditions": runs["conditions"]}
    }


def a_pod(status: Object, **meta: object) -> Object:
    return {"metadata": {"name": "p", **meta}, "spec": {"schedulingGates": []}, "status": status}


@pytest.mark.parametrize(
    ("phase", "meta", "conditions", "copied"),
    [
        ("Failed", {}, [], True),
        ("Failed", {}, [{"type": "TerminationTarget", "status": "True"}], False),
        ("Failed", {"deletionTimestamp": AT}, [], False),
        ("Succeeded", {"deletionTimestamp": AT}, [], True),
    ],
)
def test_a_pod_that_is_stopped_there_did_not_fail_here(
    phase: str, meta: Object, conditions: list[Object], *, copied: bool
) -> None:
    local = a_pod({"phase": "Running"})
    remote = a_pod({"phase": phase, "conditions": conditions}, **meta)
    assert (status_patch(JOB_KINDS["pod"], local, remote) is not None) == copied


def test_a_pod_that_runs_again_first_loses_the_containers_that_had_ended() -> None:
    """The API server refuses a container that had ended and runs, and lets one disappear."""
    ended = [{"name": "c", "state": {"terminated": {"exitCode": 0}}}]
    again = [{"name": "c", "state": {"running": {}}}]
    local = a_pod({"phase": "Succeeded", "containerStatuses": ended})
    remote = a_pod({"phase": "Running", "containerStatuses": again})
    first = status_patch(JOB_KINDS["pod"], local, remote)
    assert first == {"status": {"phase": "Running", "containerStatuses": None}}
    second = status_patch(JOB_KINDS["pod"], a_pod({"phase": "Running"}), remote)
    assert second == {"status": {"containerStatuses": again}}


def test_a_pod_of_a_group_names_its_podset_and_which_pod_it_is() -> None:
    pods = [member(name) for name in ("one", "two", "zoe")]
    for number, each in enumerate(pods):
        each["metadata"] |= {"uid": f"u{number}", "creationTimestamp": AT}
    typed = [read(each, Pod) for each in pods]
    assert groups.pods_to_send(typed) == {"one", "two"}, "the third is more than the group has"
    made = groups.remote_pod(pods[0], "crew", ORIGIN)
    assert (
        made["metadata"]["annotations"]
        | {
            PREBUILT_WORKLOAD: "crew",
            names.MANAGER_UID: "u0",
            names.ROLE_HASH: role(typed[1]),
        }
        == made["metadata"]["annotations"]
    )
    assert made["spec"]["schedulingGates"] == pods[0]["spec"]["schedulingGates"]
    assert groups.is_copy_of(made, pods[0])
    assert not groups.is_copy_of(made, pods[1])
    assert copies.workload_of(made) == "default/crew"


def test_a_stateful_sets_copy_says_which_it_is_and_shows_nothing_here() -> None:
    meta = {"namespace": "a", "name": "db", "uid": "u", "labels": {}}
    local: Object = {"metadata": meta, "spec": {"replicas": 2}, "status": {"replicas": 0}}
    made = remote_job(JOB_KINDS["statefulset"], local, "statefulset-db-1", ORIGIN)
    notes = {PREBUILT_WORKLOAD: "statefulset-db-1", names.MANAGER_UID: "u"}
    assert made["metadata"]["annotations"] == notes
    there = {**made, "status": {"readyReplicas": 2}}
    assert status_patch(JOB_KINDS["statefulset"], local, there) is None


def test_a_condition_is_written_when_it_changes_and_its_time_with_its_status() -> None:
    obj: Object = {"metadata": {"generation": 3}}
    first = active_patch(obj, status=False, reason="R", message="m", at=AT)
    fields = {**obj, "status": first["status"]}
    assert active_patch(fields, status=False, reason="R", message="m", at="later") == {}
    other = active_patch(fields, status=False, reason="S", message="m", at="later")
    assert other["status"]["conditions"][0]["lastTransitionTime"] == AT
    true = active_patch(fields, status=True, reason="Active", message="Connected", at="later")
    assert true["status"]["conditions"][0]["lastTransitionTime"] == "later"


@pytest.mark.parametrize(
    ("parameters", "known", "usable", "reason", "message"),
    [
        (None, "", "", "BadConfig", "missing parameters reference"),
        (
            "MultiKueueConfig other",
            "",
            "",
            "BadConfig",
            'MultiKueueConfig.kueue.x-k8s.io "other" not found',
        ),
        ("Other all", "", "", "BadConfig", 'wrong kind "Other", expecting "MultiKueueConfig": bad'),
        ("MultiKueueConfig all", "", "", "NoUsableClusters", "Missing clusters: [a b]"),
        ("MultiKueueConfig all", "ab", "", "NoUsableClusters", "Inactive clusters: [a b]"),
        ("MultiKueueConfig all", "b", "b", "SomeActiveClusters", "Missing clusters: [a]"),
        ("MultiKueueConfig all", "ab", "ab", "Active", "The admission check is active"),
    ],
)
def test_a_check_says_which_clusters_lack(
    parameters: str | None, known: str, usable: str, reason: str, message: str
) -> None:
    check: Object = {"metadata": {}, "spec": {"controllerName": CONTROLLER}}
    if parameters is not None:
        kind, name = parameters.split()
        named = {"apiGroup": "kueue.x-k8s.io", "kind": kind, "name": name}
        check["spec"]["parameters"] = named
    config = {"spec": {"clusters": ["a", "b"]}} if (parameters or "").endswith("all") else None
    [value] = check_patch(check, config, known, usable, AT)["status"]["conditions"]
    assert value["reason"] == reason
    assert message in value["message"]


def test_the_serve_config_of_a_ray_service_is_copied_on_and_nothing_else_is() -> None:
    kind = JOB_KINDS["ray.io/rayservice"]
    remote: Object = {"spec": {"serveConfigV2": "a: 1", "suspend": True}}
    assert spec_patch(kind, {"spec": {"serveConfigV2": "a: 1", "suspend": False}}, remote) is None
    local: Object = {"spec": {"serveConfigV2": "a: 2", "suspend": False}}
    assert spec_patch(kind, local, remote) == {"spec": {"serveConfigV2": "a: 2"}}
    assert spec_patch(JOB_KINDS["ray.io/raycluster"], local, remote) is None
