"""What a tenant tries: each attempt is a row, done as a user who may edit one namespace.

To add one, write a row into ``ATTEMPTS``, in any place, and run
``pytest tests/e2e/test_tenant.py``:

- ``job`` is merged into a queued Job of one pod that asks for ``cpu`` (the quota is 2; a Job of 9
  never fits and waits), and created. It must be accepted.
- ``patches`` follow, one after another: as soon as it is made, or once it runs. ``{ledger}`` in
  one is the id of the ledger. Each must be accepted by the API server, but those that ``refused``
  counts by their places, from 0: with the policies they are answered 422, without them 200.
- ``child`` is merged into a second, running Job that names the first as its owner; ``deleted``
  deletes the Job at the end; ``preempted`` submits one of high priority, which must run.
- ``then`` says what must hold in the end. Whatever that is, the pods that run in the namespace
  never ask for more than the quota for long, and another Job of the queue completes.

What a tenant has no right to do at all stands in ``FORBIDDEN``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tests.e2e.tenant_forms import FEWEST, ODD, affinity, annotated, container, in_template, of_pods
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi, Response

Object = dict[str, Any]
NAMESPACE, USER = "tenant", "mallory"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
QUEUE = "kueue.x-k8s.io/queue-name"
ROLES = "rbac.authorization.k8s.io"
BINDING: Object = {
    "apiVersion": f"{ROLES}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "edit", "namespace": NAMESPACE},
    "roleRef": {"apiGroup": ROLES, "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": ROLES, "kind": "User", "name": USER}],
}
DIGITS = "9" * 5_000
STARTED, STOPPED = {"spec": {"suspend": False}}, {"spec": {"suspend": True}}
PRIORITY = "kueue.x-k8s.io/priority-class"
HIGH: Object = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "high"},
    "value": 1_000,
}
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
FORBIDDEN: tuple[tuple[str, str], ...] = (
    ("DELETE", f"{KUEUE}/clusterqueues/{NAMESPACE}"),
    ("PATCH", f"{KUEUE}/clusterqueues/{NAMESPACE}"),
    ("DELETE", f"{KUEUE}/resourceflavors/any"),
    ("PATCH", f"{KUEUE}/namespaces/{NAMESPACE}/localqueues/{NAMESPACE}"),
    ("POST", f"{KUEUE}/namespaces/{NAMESPACE}/workloads"),
    ("DELETE", f"{KUEUE}/namespaces/{NAMESPACE}/workloads/any"),
    ("PATCH", f"{KUEUE}/namespaces/{NAMESPACE}/workloads/any/status"),
    ("PATCH", f"{JOBS}/any/status"),
    ("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/any/binding"),
    ("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/any/resize"),
)
"""What a user who may edit the namespace may not do: method and path."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a tenant does; whatever it is, others must go on."""

    name: str
    job: Object = {}  # merged into a Job of one pod and one CPU before it is made
    cpu: str = "1"  # 9: it never fits, so it waits
    once: Literal["made", "running"] = "made"  # when the patches follow
    patches: tuple[Object, ...] = ()  # of the Job, one after another
    refused: tuple[int, ...] = ()  # which patches the policies refuse, by their places
    child: Object = {}  # of a second Job that names the first as its owner, and is not suspended
    deleted: bool = False  # the Job, behind the patches
    preempted: bool = False  # a Job of high priority follows, that takes all quota
    then: Literal["waits", "anything"] = "waits"  # it must not run in the end, or may


DECISION, INJECTED = "tidegate.dev/decision", "tidegate.dev/injected"
MANY, MUCH = {"spec": {"parallelism": 1, "completions": 12}}, {"spec": {"parallelism": 12}}
ATTEMPTS: tuple[Attempt, ...] = (
    Attempt(
        name="a decision of 5,000 digits",
        cpu="9",
        patches=(annotated(DECISION, f"{{ledger}}/{DIGITS}"),),
        refused=(0,),
    ),
    Attempt(
        name="a slice of 5,000 digits",
        cpu="9",
        job=in_template("kueue.x-k8s.io/podset-slice-size", DIGITS),
    ),
    Attempt(name="an affinity of 63 digits", job=affinity("9" * 63), then="anything"),
    Attempt(
        name="a Workload somewhere else",
        cpu="9",
        job=annotated("kueue.x-k8s.io/prebuilt-workload-name", "../../../secrets/key"),
    ),
    Attempt(
        name="an endless list of gates",
        cpu="9",
        job=annotated("kueue.x-k8s.io/admission-gated-by", "a," * 100_000),
    ),
    Attempt(name="start it by hand", cpu="9", patches=(STARTED,)),
    Attempt(name="start it by hand, again and again", cpu="9", patches=(STARTED,) * 5),
    Attempt(
        name="more pods while it runs", once="running", job=MANY, patches=(MUCH,), then="waits"
    ),
    Attempt(
        name="a forged decision, and start",
        cpu="9",
        patches=(annotated(DECISION, "{ledger}/999999999", **STARTED),),
        refused=(0,),
    ),
    Attempt(
        name="a forged decision on what runs, and more pods",
        once="running",
        job=MANY,
        patches=(annotated(DECISION, "{ledger}/999999999"), MUCH),
        refused=(0,),
    ),
    Attempt(
        name="unreadable, and start",
        cpu="9",
        patches=(annotated("kueue.x-k8s.io/prebuilt-workload-name", "../x", **STARTED),),
        refused=(0,),
    ),
    Attempt(
        name="elastic where that is not enabled, and start",
        cpu="9",
        patches=(annotated("kueue.x-k8s.io/elastic-job", "true", **STARTED),),
        refused=(0,),
    ),
    Attempt(
        name="a garbled note on what runs, and more pods",
        once="running",
        job=MANY,
        patches=(annotated(INJECTED, "garbage"), MUCH),
        refused=(0,),
    ),
    Attempt(
        name="0.9 MB of affinity, and start",
        cpu="9",
        job=affinity(*(f"{number:060}" for number in range(14_000)), operator="In"),
        patches=(STARTED,),
    ),
    Attempt(
        name="a garbled note on what runs, and a preemptor",
        once="running",
        cpu="2",
        patches=(annotated(INJECTED, "garbage"),),
        refused=(0,),
        preempted=True,
    ),
    Attempt(
        name="a note of another template, and a preemptor",
        once="running",
        cpu="2",
        patches=(annotated(INJECTED, '{"main": {"labels": ["a"], "gates": ["b"]}}'),),
        refused=(0,),
        preempted=True,
    ),
    Attempt(
        name="another job's group",
        cpu="9",
        patches=(annotated("tidegate.dev/group-uid", "team/group", **STARTED),),
        refused=(0,),
    ),
    Attempt(
        name="stopped and started by hand while it runs",
        once="running",
        patches=(STOPPED, STARTED, STOPPED, STARTED),
        then="anything",
    ),
    Attempt(
        name="deleted, and kept by a finalizer",
        once="running",
        cpu="2",
        patches=({"metadata": {"finalizers": ["example.com/stays"]}},),
        deleted=True,
        then="anything",
    ),
    Attempt(
        name="another queue while it runs, and more pods",
        once="running",
        job=MANY,
        patches=({"metadata": {"labels": {QUEUE: "elsewhere"}}}, MUCH),
        refused=(0,),
    ),
    Attempt(
        name="a priority of its own while it runs, and more pods",
        once="running",
        job=MANY,
        patches=({"metadata": {"labels": {PRIORITY: "high"}}}, MUCH),
        refused=(0,),
    ),
    Attempt(
        name="gated by oneself while it runs, and more pods",
        once="running",
        job=MANY,
        patches=(annotated("kueue.x-k8s.io/admission-gated-by", "example.com/me"), MUCH),
        refused=(0,),
    ),
    Attempt(name="the child of a job that waits", cpu="9", child={"metadata": {"labels": {}}}),
    Attempt(
        name="the queued child of a job that waits",
        cpu="9",
        child={"metadata": {"labels": {QUEUE: NAMESPACE}}},
    ),
    Attempt(name="no suspension at all", cpu="9", patches=({"spec": {"suspend": None}},)),
    Attempt(name="two thousand million pods", job={"spec": {"parallelism": 2**31 - 1}}),
    Attempt(
        name="no pods at first, and then twelve",
        job={"spec": {"parallelism": 0, "completions": 12}},
        patches=(MUCH,),
    ),
    Attempt(
        name="more of an indexed Job while it runs",
        once="running",
        job={"spec": {"completionMode": "Indexed", "parallelism": 1, "completions": 1}},
        patches=({"spec": {"parallelism": 12, "completions": 12}},),
    ),
    Attempt(name="limits and no requests", job=of_pods(containers=[container(limits="9")])),
    Attempt(
        name="what counts is an init container's",
        job=of_pods(initContainers=[container("before", requests="9")]),
    ),
    Attempt(
        name="what counts is a sidecar's",
        job=of_pods(
            initContainers=[container("beside", requests="9") | {"restartPolicy": "Always"}]
        ),
    ),
    Attempt(
        name="a node of one's own choice, and start",
        cpu="9",
        job=of_pods(nodeName="node-0"),
        patches=(STARTED,),
    ),
    Attempt(
        name="a scheduling gate of one's own",
        job=of_pods(schedulingGates=[{"name": "example.com/mine"}]),
        then="anything",
    ),
    Attempt(
        name="gone as soon as it is done",
        job={"spec": {"ttlSecondsAfterFinished": 0, "activeDeadlineSeconds": 1}},
        then="anything",
    ),
    Attempt(name="200,000 bytes of annotation", cpu="9", job=annotated("mine", "a" * 200_000)),
    Attempt(
        name="all of 12", once="running", job=FEWEST, patches=(MUCH,), refused=(0,), then="anything"
    ),
    *(
        Attempt(name=f"{name}, and start", cpu="9", job=odd, patches=(STARTED,))
        for name, odd in ODD.items()
    ),
)


def job(name: str, cpu: str) -> Object:
    """Return a queued Job of one pod that runs for long."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "labels": {QUEUE: NAMESPACE}},
        "spec": {
            "template": {
                "metadata": {"annotations": {"simulate/seconds": "600"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
        },
    }


def owned(child: Object, owner: Object) -> Object:
    """Return a Job that names another as its controller."""
    meta = owner["metadata"]
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    obj = job(f"{meta['name']}-child", "9")
    obj["metadata"] |= {"ownerReferences": [reference], **child.get("metadata", {})}
    return obj


async def create(api: KubernetesApi, obj: Object) -> Response:
    return await api.request("POST", JOBS, body=msgspec.json.encode(obj))


async def change(api: KubernetesApi, name: str, patch: Object, ledger: str) -> Response:
    """Patch a Job; ``{ledger}`` in it is the id of the ledger, which stands on every job."""
    body = msgspec.json.encode(patch).replace(b"{ledger}", ledger.encode())
    return await api.request("PATCH", f"{JOBS}/{name}", body=body, content_type=MERGE_PATCH)
