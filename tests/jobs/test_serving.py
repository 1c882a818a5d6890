"""StatefulSets and LeaderWorkerSets: how they stand by their pods, and their orders' steps."""

from __future__ import annotations

import pytest

from tests.jobs.walking import merged
from tests.parts.foreign import pods_template
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.observations import JobObserved
from tidegate.contracts.observed.jobs import NO_REPLICAS
from tidegate.errors import NotSupportedError, UndecodableError
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.kind import Delete, Done, Object, Patch, Refused, Start, Stop
from tidegate.jobs.serving import leader_worker_set, ordering, stateful_set
from tidegate.jobs.serving.members import group_index, parent_name, parent_uid
from tidegate.jobs.serving.observing import ObservedPods, observe_serving_job
from tidegate.kinds.decode import read
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import DECISION, INJECTED, SERVING_POD, SUSPENDING_PARENT
from tidegate.kinds.pods import Pod
from tidegate.model.ids import ObjectRef

GATE = [{"name": "kueue.x-k8s.io/admission"}]
GIVEN = (PodSetStart(name="main", count=2, node_selector={"tide": "spring"}),)


def stateful(replicas: int = 2, **spec: object) -> Object:
    meta: Object = {"name": "db", "namespace": "team", "uid": "u1", "resourceVersion": "7"}
    meta["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    fields = {"replicas": replicas, "template": pods_template(), **spec}
    return {"metadata": meta, "spec": fields}


def pod(ordinal: int, phase: str = "Pending", *, gated: bool = True, **meta: object) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u1"}
    metadata = {
        "name": f"db-{ordinal}",
        "namespace": "team",
        "uid": f"p{ordinal}",
        "resourceVersion": "9",
        "labels": {SERVING_POD: "true"},
        "annotations": {SUSPENDING_PARENT: "statefulset"},
        "ownerReferences": [{**owner, "controller": True}],
        **meta,
    }
    spec = {**pods_template()["spec"], **({"schedulingGates": GATE} if gated else {})}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def job(kind: str = stateful_set.NAME, name: str = "db", uid: str = "u1") -> ObjectRef:
    return ObjectRef(kind=kind, namespace="team", name=name, uid=uid)


def seen(obj: Object, *pods: Object, certain: bool = True, going: bool = False) -> JobObserved:
    standing = ObservedPods(
        pods=[read(candidate_pod, Pod) for candidate_pod in pods],
        version=9,
        is_certain=certain,
        is_deleted=going,
    )
    parts = stateful_set.SET
    return observe_serving_job(parts.row, parts.layout, read(obj, UntypedObject), None, standing)


def start(seq: int = 5, given: tuple[PodSetStart, ...] = GIVEN) -> Start:
    order = StartOrdered(at_us=1, workload="team/w", job=job(), podsets=given)
    return Start(order=order, ledger_id="L1", seq=seq)


def stop(seq: int = 6) -> Stop:
    return Stop(order=StopOrdered(at_us=1, workload="team/w", job=job()), ledger_id="L1", seq=seq)


def started(obj: Object) -> Object:
    steps = stateful_set.KIND.members.start(start(), [obj])  # type: ignore[union-attr]  # it has
    ((_, step),) = steps
    assert isinstance(step, Patch)
    return merged(obj, step.body)


@pytest.mark.parametrize(
    ("begun", "pods", "suspended", "partly", "active"),
    [
        (False, [], True, False, 0),
        (False, [pod(0), pod(1)], True, False, 0),
        (True, [], False, False, 0),
        (True, [pod(0, "Running", gated=False), pod(1)], False, False, 1),
        (False, [pod(0, "Running", gated=False)], False, False, 1),
        (False, [pod(0, "Running", gated=False), pod(1)], False, True, 1),
        (False, [pod(0, "Running", gated=False, deletionTimestamp="x")], True, False, 1),
        (False, [pod(0, "Failed", gated=False)], True, False, 0),
    ],
)
def test_it_is_suspended_until_it_is_started_or_a_pod_runs(
    begun: bool,  # noqa: FBT001 - of a table
    pods: list[Object],
    suspended: bool,  # noqa: FBT001
    partly: bool,  # noqa: FBT001
    active: int,
) -> None:
    state = seen(started(stateful()) if begun else stateful(), *pods).state
    assert (state.suspended, state.partly, state.active) == (suspended, partly, active)


def test_while_a_pod_may_have_been_let_go_unseen_it_counts_as_active() -> None:
    assert seen(stateful(), pod(0), certain=False).state.active == 1


def test_it_is_one_workload_named_as_kueue_names_it_and_waits_without_replicas() -> None:
    observation = seen(stateful(replicas=0))
    assert observation.workload.startswith("team/statefulset-db-")
    assert [podset.count for podset in observation.podsets] == [0]
    assert observation.gates == (NO_REPLICAS,)


def test_a_start_is_written_on_the_object_and_watches_pods_from_before() -> None:
    old = pod(0, labels={})
    steps = stateful_set.KIND.members.start(start(), [stateful(), old])  # type: ignore[union-attr]  # it has
    (_, on_object), (_, on_pod) = steps
    assert isinstance(on_object, Patch)
    assert isinstance(on_pod, Patch)
    notes = on_object.body["metadata"]["annotations"]
    assert notes[DECISION] == "L1/5"
    assert ordering.podset_starts(notes, None) == GIVEN
    assert on_pod.body == {"metadata": {"labels": {SERVING_POD: "true"}}}


def test_a_start_that_contradicts_the_template_is_refused() -> None:
    obj = stateful()
    obj["spec"]["template"]["spec"]["nodeSelector"] = {"tide": "neap"}
    ((_, step),) = stateful_set.KIND.members.start(start(), [obj])  # type: ignore[union-attr]  # it has
    assert isinstance(step, Refused)
    assert step.reason == "invalid"


def test_a_stop_reverts_the_start_then_marks_pods_that_wait_and_deletes_those_that_run() -> None:
    members = stateful_set.KIND.members
    assert members is not None
    obj, running, waiting = started(stateful()), pod(0, "Running", gated=False), pod(1)
    ((_, step),) = members.stop(stop(), [obj, running, waiting])
    assert isinstance(step, Patch)
    obj = merged(obj, step.body)
    assert ordering.podset_starts(obj["metadata"]["annotations"], None) is None
    for _ in range(2):
        steps = members.stop(stop(), [obj, running, waiting])
        for fields, step in steps[:1]:
            assert isinstance(step, Patch)
            running = merged(fields, step.body)
        if isinstance(steps[1][1], Patch):
            waiting = merged(waiting, steps[1][1].body)
    (_, last), (_, other) = members.stop(stop(), [obj, running, waiting])
    assert isinstance(last, Delete)
    assert not isinstance(other, Patch | Delete)
    assert waiting["metadata"]["annotations"][DECISION] == "L1/6"


def test_a_pod_that_names_its_set_in_its_name_alone_is_no_member() -> None:
    member = stateful_set.membership
    assert member(read(pod(0), Pod).metadata) is not None
    assert member(read(pod(0, name="db-x"), Pod).metadata) is None
    assert member(read(pod(0, name="other-0"), Pod).metadata) is None
    assert member(read(pod(0, ownerReferences=[]), Pod).metadata) is None
    assert member(read(pod(0, annotations={}), Pod).metadata) is None


def test_each_group_of_a_leader_worker_set_has_marks_of_its_own() -> None:
    obj: Object = {"metadata": {"name": "llm", "annotations": {}}}
    for index in (0, 1):
        obj = merged(obj, ordering.decision_patch(index, f"L1/{index + 5}", GIVEN))
    obj = merged(obj, ordering.decision_patch(0, "L1/9", None))
    notes = obj["metadata"]["annotations"]
    assert [ordering.decision(notes, index) for index in (0, 1)] == ["L1/9", "L1/6"]
    assert [ordering.podset_starts(notes, index) for index in (0, 1)] == [None, GIVEN]
    assert ordering.view_of_job(obj, 1)["metadata"]["annotations"][DECISION] == "L1/6"
    assert ordering.view_of_job(obj, 2)["metadata"]["annotations"].keys() == notes.keys()
    ref = job(leader_worker_set.NAME, "llm-1", "u2.1")
    assert (parent_name(ref), parent_uid(ref), group_index(ref)) == ("llm", "u2", 1)


def test_a_note_that_says_nonsense_starts_nothing() -> None:
    assert ordering.podset_starts({"tidegate.dev/injected": "{"}, None) is None
    assert ordering.podset_starts({"tidegate.dev/injected": '[{"name": 5}]'}, None) is None


@pytest.mark.parametrize("spec", [{}, {"workerTemplate": pods_template(), "size": 0}])
def test_a_group_without_pods_is_refused(spec: Object) -> None:
    kind = leader_worker_set.KIND
    manifest = {"metadata": stateful()["metadata"], "spec": {"leaderWorkerTemplate": spec}}
    with pytest.raises(UndecodableError):
        kind.observe(read(manifest, UntypedObject))


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": -1},
        {"replicas": "two"},
        {"template": None},
        {"template": {"spec": {"containers": []}}},
        {"template": {"spec": {"containers": "none"}}},
        {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}},
    ],
)
def test_a_set_that_makes_no_sense_is_refused_with_a_sentence(spec: Object) -> None:
    with pytest.raises(UndecodableError, match=r"[a-z]+"):
        seen(stateful(**{"replicas": 2, **spec}))


def test_a_set_that_is_elastic_is_refused() -> None:
    obj = stateful()
    obj["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    with pytest.raises(NotSupportedError, match="cannot be elastic"):
        seen(obj)


def test_a_pod_is_of_the_stateful_set_that_owns_it_and_of_no_other_of_its_name() -> None:
    members = stateful_set.KIND.members
    assert members is not None
    assert members.parent is not None
    assert members.is_member(job(), pod(0))
    assert not members.is_member(job(uid="u9"), pod(0))
    assert not members.is_member(job(name="other"), pod(0))
    assert members.parent.view(job(), stateful()) == stateful()


@pytest.mark.parametrize(
    ("ready", "marks", "suspended", "active"),
    [
        (0, {}, True, 0),
        (None, {}, True, 0),
        (1, {}, False, 1),
        (0, {f"{INJECTED}-1": "[]"}, False, 0),
    ],
)
def test_a_set_whose_pods_were_not_counted_stands_as_its_status_says(
    ready: int | None, marks: dict[str, str], *, suspended: bool, active: int
) -> None:
    obj: Object = {"metadata": {"annotations": marks}, "status": {"readyReplicas": ready}}
    state = stateful_set.KIND.status_of(read(obj["metadata"], ObjectMeta), obj)
    assert (state.suspended, state.active) == (suspended, active)


def test_its_object_alone_is_neither_started_nor_stopped() -> None:
    kind = stateful_set.KIND
    for step in (kind.start(start(), stateful()), kind.stop(stop(), stateful(), 0.0)):
        assert isinstance(step, Refused)


def test_an_order_that_was_carried_out_only_reaches_pods_that_bear_no_label() -> None:
    members = stateful_set.KIND.members
    assert members is not None
    begun = started(stateful())
    assert members.start(start(), [begun, pod(0)]) == []
    ((obj, step),) = members.start(start(), [begun, pod(0, labels={})])
    assert (obj["metadata"]["name"], type(step)) == ("db-0", Patch)
    assert members.stop(stop(seq=4), [begun, pod(0)]) == [(begun, Done())]


def test_a_start_of_other_podsets_is_refused() -> None:
    members = stateful_set.KIND.members
    assert members is not None
    ((_, step),) = members.start(start(given=(PodSetStart(name="leader", count=1),)), [stateful()])
    assert step == Refused(
        reason="invalid", message="The start is of podsets leader; there are main."
    )
