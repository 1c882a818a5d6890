"""Groups of pods: which pods belong, when they are whole, what each needs to start and stop."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.jobs import INCOMPLETE
from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Delete, Patch, Refused, Start, Stop
from tidegate.jobs.pods.grouping import group_uid
from tidegate.jobs.pods.pod_group import (
    KIND,
    observe_group,
    podsets,
    start_members,
    stop_members,
)
from tidegate.jobs.pods.pod_roles import role
from tidegate.jobs.pods.pod_state import is_active
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

Object = dict[str, Any]
KUEUE = "kueue.x-k8s.io"
GATE = {"name": f"{KUEUE}/admission"}
KEPT = f"{KUEUE}/managed"
SUCCEEDED, FAILED, RUNNING = "Succeeded", "Failed", "Running"


def pod(number: int, phase: str = "Pending", cpu: str = "1", **marks: str) -> Object:
    """Return the pod of this age; one that is pending is gated."""
    labels = {f"{KUEUE}/queue-name": "main", f"{KUEUE}/pod-group-name": "crew"}
    annotations = {f"{KUEUE}/pod-group-total-count": "2"}
    annotations |= {key.replace("__", "/").replace("_", "-"): value for key, value in marks.items()}
    return {
        "metadata": {
            "namespace": "team",
            "name": f"p{number}",
            "uid": f"u{number}",
            "resourceVersion": str(100 + number),
            "creationTimestamp": f"2026-03-01T08:00:0{number}Z",
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            "schedulingGates": [GATE] if phase == "Pending" else [],
        },
        "status": {"phase": phase},
    }


def seen(*pods: Object, was_whole: bool = False) -> JobObserved:
    return observe_group([read(member, Pod) for member in pods], 200, was_whole=was_whole)


def marked(obj: Object, **marks: str) -> Object:
    named = {f"{KUEUE}/{key.replace('_', '-')}": value for key, value in marks.items()}
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "annotations": {**meta["annotations"], **named}}}


def test_a_group_is_queued_once_it_is_whole_and_named_like_its_workload() -> None:
    assert seen(pod(1)).queue == ""
    whole = seen(pod(2), pod(1))
    assert (whole.queue, whole.name, whole.workload) == ("main", "crew", "team/crew")
    assert (whole.uid, whole.version) == ("u1.group", 200)
    assert [(ps.count, ps.containers[0].requests) for ps in whole.podsets] == [(2, {"cpu": "1"})]
    assert whole.state.suspended
    assert not whole.state.started


def test_its_podsets_are_the_roles_of_its_pods_in_the_order_of_their_names() -> None:
    pods = [pod(1), pod(2, cpu="2")]
    names = [podset.name for podset in seen(*pods).podsets]
    assert names == sorted(role(read(member, Pod)) for member in pods)
    current_podsets = podsets({"items": pods})
    assert [podset["name"] for podset in current_podsets] == names
    assert all("schedulingGates" not in podset["template"]["spec"] for podset in current_podsets)


@pytest.mark.parametrize(
    ("named", "label"), [("rank", "rank"), ("x" * 400, f"{KUEUE}/pod-group-pod-index")]
)
def test_the_label_that_numbers_its_pods_may_be_named_by_them(named: str, label: str) -> None:
    pods = [marked(pod(number), pod_group_pod_index_label=named) for number in (1, 2)]
    [fields] = podsets({"items": pods})
    assert fields["topologyRequest"]["podIndexLabel"] == label


def test_one_that_was_whole_and_lost_a_pod_waits_behind_a_gate() -> None:
    assert seen(pod(1), was_whole=True).gates == (INCOMPLETE,)
    assert seen(pod(1), pod(2), was_whole=True).gates == ()


def test_fast_admission_asks_for_all_as_soon_as_one_is_there() -> None:
    job = seen(marked(pod(1), pod_group_fast_admission="true"))
    assert job.queue == "main"
    assert [podset.count for podset in job.podsets] == [2]


def test_a_started_group_with_a_gated_replacement_is_to_be_started_again() -> None:
    state = seen(pod(1, RUNNING), pod(2, FAILED), pod(3)).state
    assert (state.suspended, state.started, state.active) == (True, True, 1)


@pytest.mark.parametrize(
    ("pods", "finished"),
    [
        ([pod(1, SUCCEEDED), pod(2, SUCCEEDED)], "Succeeded"),
        ([pod(1, SUCCEEDED), pod(2, FAILED)], ""),
        ([pod(1, SUCCEEDED), marked(pod(2, FAILED), retriable_in_group="false")], "Succeeded"),
        ([pod(1, RUNNING), marked(pod(2, FAILED), retriable_in_group="false")], ""),
        ([marked(pod(1, SUCCEEDED), pod_group_serving="true"), pod(2, SUCCEEDED)], ""),
    ],
)
def test_a_group_is_finished_when_enough_succeeded_or_no_pod_is_retried(
    pods: list[Object], finished: str
) -> None:
    assert seen(*pods).finished == finished


def test_a_succeeded_pod_gives_back_its_quota() -> None:
    pods = [pod(1, SUCCEEDED), pod(2, RUNNING)]
    assert seen(*pods).reclaimable == {role(read(pods[0], Pod)): 1}


@pytest.mark.parametrize(
    ("pods", "text"),
    [
        ([pod(1), marked(pod(2), pod_group_total_count="3")], "same positive number"),
        ([marked(pod(1), pod_group_total_count="-2")], "same positive number"),
        ([marked(pod(1), pod_group_total_count="many")], "same positive number"),
    ],
)
def test_a_group_that_makes_no_sense_is_refused(pods: list[Object], text: str) -> None:
    with pytest.raises(UndecodableError, match=text):
        seen(*pods)


def test_pods_of_one_role_claim_the_same_devices() -> None:
    plain = pod(1)
    claiming = marked(pod(2), role_hash=role(read(plain, Pod)))
    claim = {"name": "gpu", "resourceClaimTemplateName": "eight"}
    claiming["spec"] = {**claiming["spec"], "resourceClaims": [claim]}
    with pytest.raises(UndecodableError, match="different resources"):
        seen(plain, claiming)


def start(*names: str, uid: str = "u1.group") -> Start:
    given = tuple(PodSetStart(name=name, count=2, node_selector={"a": "b"}) for name in names)
    job = ObjectRef(kind="pod-group", namespace="team", name="crew", uid=uid)
    order = StartOrdered(at_us=1, workload="team/crew", job=job, podsets=given)
    return Start(order=order, ledger_id="L1", seq=7)


def test_a_start_lets_each_go_once_and_deletes_the_newest_that_are_too_many() -> None:
    pods = [pod(1), pod(2), pod(3)]
    (obj, first), (_, second), (three, third) = start_members(start(role(read(pods[0], Pod))), pods)
    assert isinstance(first, Patch)
    assert isinstance(second, Patch)
    assert (obj["metadata"]["name"], three["metadata"]["name"], third) == ("p1", "p3", Delete())
    notes = first.body["metadata"]["annotations"]
    assert notes["tidegate.dev/group-uid"] == "u1.group"
    assert first.body["spec"] == {"schedulingGates": None, "nodeSelector": {"a": "b"}}


def test_a_start_of_another_group_of_its_name_or_of_another_role_is_refused() -> None:
    (_, namesake), *_ = start_members(start("x", uid="u9.group"), [pod(1), pod(2)])
    assert isinstance(namesake, Refused)
    assert namesake.reason == "gone"
    (_, other), *_ = start_members(start("x"), [pod(1), pod(2)])
    assert isinstance(other, Refused)
    assert other.reason == "invalid"


def test_a_group_keeps_its_uid_when_its_first_pod_is_replaced() -> None:
    known = pod(2, RUNNING, **{"tidegate.dev__group_uid": "u1.group"})
    assert group_uid([read(member, Pod) for member in (known, pod(3))]) == "u1.group"


def stopped(*pods: Object) -> list[Any]:
    job = ObjectRef(kind="pod-group", namespace="team", name="crew", uid="u1.group")
    order = StopOrdered(at_us=1, workload="team/crew", job=job)
    stop = Stop(order=order, ledger_id="L1", seq=9, keeps=True)
    return [step for _, step in stop_members(stop, pods)]


def test_a_stop_reaches_each_pod() -> None:
    assert [type(step) for step in stopped(pod(1, RUNNING), pod(2, SUCCEEDED))] == [Patch, Patch]


def deleted(obj: Object) -> Object:
    """Return a pod that a stop has deleted and its finalizer keeps."""
    target = {"type": "TerminationTarget", "status": "True"}
    meta = {**obj["metadata"], "deletionTimestamp": "2026-03-01T09:00:00Z", "finalizers": [KEPT]}
    return {**obj, "metadata": meta, "status": {**obj["status"], "conditions": [target]}}


def test_a_stop_keeps_the_pods_that_it_deletes_and_no_others() -> None:
    runs, waits, ended, kept = stopped(
        pod(1, RUNNING), pod(2), pod(3, SUCCEEDED), deleted(pod(4, FAILED))
    )
    assert runs.body["metadata"]["finalizers"] == [KEPT]
    assert all("finalizers" not in step.body["metadata"] for step in (waits, ended, kept))


def test_a_stop_marks_pods_that_an_older_stop_deleted_so_that_they_prove_it_too() -> None:
    older = {"tidegate.dev__group_uid": "u1.group", "tidegate.dev__decision": "L1/7"}
    pods = [deleted(pod(1, **older)), deleted(pod(2, RUNNING, **older)), pod(3), pod(4)]
    pods[1]["metadata"]["deletionGracePeriodSeconds"] = 0
    for obj, step in zip(pods, stopped(*pods), strict=True):
        mark = step.body["metadata"]
        assert "finalizers" not in mark
        obj["metadata"]["annotations"] |= mark["annotations"]
    state = seen(*pods, was_whole=True).state
    assert (state.suspended, state.active, state.decision) == (True, 0, "L1/9")


def test_pods_that_a_stop_ended_are_a_group_that_waits_for_others() -> None:
    mark = {"tidegate.dev__group_uid": "u1.group", "tidegate.dev__decision": "L1/9"}
    left = [deleted(pod(1, FAILED, **mark)), deleted(pod(2, SUCCEEDED, **mark))]
    job = seen(*left, was_whole=True)
    assert (job.queue, job.uid, job.gates) == ("main", "u1.group", (INCOMPLETE,))
    assert (job.finished, job.reclaimable, [ps.count for ps in job.podsets]) == ("", {}, [2])
    assert (job.state.suspended, job.state.active, job.state.decision) == (True, 0, "L1/9")
    again = seen(*left, pod(3), pod(4))
    assert (again.uid, again.gates, [ps.count for ps in again.podsets]) == ("u1.group", (), [2])


def test_an_ended_pod_proves_a_stop_when_no_other_is_left() -> None:
    ended = pod(1, SUCCEEDED, **{"tidegate.dev__decision": "L1/9"})
    state = seen(ended).state
    assert (state.suspended, state.started, state.active) == (True, False, 0)
    assert state.decision == "L1/9"


def with_meta(obj: Object, **meta: Object) -> Object:
    """Return a pod that has more labels or annotations."""
    added = {field: {**obj["metadata"][field], **fields} for field, fields in meta.items()}
    return {**obj, "metadata": {**obj["metadata"], **added}}


def test_a_group_may_be_named_by_an_annotation_and_not_by_both() -> None:
    name = f"{KUEUE}/pod-group-name"
    alone = pod(1)
    del alone["metadata"]["labels"][name]
    alone = with_meta(alone, annotations={name: "crew"})
    assert seen(alone, was_whole=True).name == "crew"
    with pytest.raises(UndecodableError, match="by the label"):
        seen(alone, pod(2))


def test_a_group_has_as_many_roles_as_a_workload_has_podsets() -> None:
    pods = [pod(at, cpu=str(at)) for at in range(1, 20)]
    for obj in pods:
        obj["metadata"]["annotations"] = {f"{KUEUE}/pod-group-total-count": "19"}
    with pytest.raises(UndecodableError, match="19 roles; 18 are the most"):
        seen(*pods)


@pytest.mark.parametrize(("name", "selectors"), [("crew", 2), ("c" * 64, 1)])
def test_the_pods_of_a_group_are_found_by_its_name(name: str, selectors: int) -> None:
    members = KIND.members
    assert members is not None
    job = ObjectRef(kind=KIND.name, namespace="team", name=name, uid="u1.group")
    assert len(members.selectors(job)) == selectors
    assert members.is_member(job, pod(1)) == (name == "crew")


def test_a_pod_of_a_group_is_nothing_alone() -> None:
    with pytest.raises(UndecodableError, match="with its group"):
        KIND.observe(read(pod(1), Pod))
    assert isinstance(KIND.start(start("any"), pod(1)), Refused)


def test_a_stop_of_another_group_of_its_name_stops_no_pod() -> None:
    order = StopOrdered(
        at_us=1,
        workload="team/crew",
        job=ObjectRef(kind="pod-group", namespace="team", name="crew", uid="u0.group"),
    )
    ((_, step),) = stop_members(Stop(order=order, ledger_id="L1", seq=9), [pod(1), pod(2)])
    assert isinstance(step, Refused)
    assert step.reason == "gone"


@pytest.mark.parametrize(("node", "active"), [("", False), ("n", True)])
def test_a_pod_that_is_deleted_before_it_has_a_node_runs_no_more(
    node: str, *, active: bool
) -> None:
    waits = pod(1)  # behind the gate of its topology, or for a node
    waits["spec"] |= {"schedulingGates": [{"name": f"{KUEUE}/topology"}], "nodeName": node}
    waits["metadata"] |= {"deletionTimestamp": "2026-03-01T09:00:00Z", "finalizers": [KEPT]}
    assert is_active(read(waits, Pod)) is active
