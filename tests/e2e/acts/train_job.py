"""TrainJobs: here the nodes of a training are the pods of the one Job of its JobSet."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.acts.jobset import INDEX
from tests.e2e.operators import count, indexed, pods_asked, put_in
from tests.parts.definitions import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME
from tests.parts.foreign import pods_template

Object = dict[str, Any]
GROUP = "trainer.kubeflow.org"
RUNTIME = "plain"
SECONDS = "simulate/seconds"
NODES = 2
MANAGER = "kueue.x-k8s.io/manager"
STEP = {f"{GROUP}/trainjob-ancestor-step": "trainer"}


def runtime() -> Object:
    """Return a runtime of one replicatedJob, whose pods ask for a core each."""
    template = pods_template("1")
    template["spec"]["containers"][0]["name"] = "node"
    job = {
        "name": "node",
        "template": {"metadata": {"labels": STEP}, "spec": {"template": template}},
    }
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": RUNTIME},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [job]}}},
    }


def train_job(name: str, queue: str, seconds: float) -> Object:
    """Return a TrainJob of two nodes; how long they train stands on it."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": queue},
            "annotations": {SECONDS: str(seconds)},
        },
        "spec": {"runtimeRef": {"name": RUNTIME}, "trainer": {"numNodes": NODES}},
    }


def templates(obj: Object) -> list[Object]:
    """Return what Kueue's patch of the runtime gives to the nodes' pods."""
    return [
        template
        for patch in obj["spec"]["runtimePatches"]
        if patch["manager"] == MANAGER
        for template in patched(patch)
    ]


def patched(patch: Object) -> list[Object]:
    """Return what a patch of the runtime says of the pods of each replicatedJob."""
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    return [job["template"]["spec"]["template"] for job in jobs]


def children(parent: Object) -> list[tuple[str, Object]]:
    """Return the Job of a TrainJob that may run, with what every patch says put in."""
    if parent["spec"].get("suspend"):
        return []
    seconds = float(parent["metadata"]["annotations"][SECONDS])
    trainer = parent["spec"]["trainer"]
    asked = trainer.get("resourcesPerNode", {}).get("requests", {})
    template = pods_template(asked.get("cpu", "1"), seconds)
    for patch in parent["spec"]["runtimePatches"]:
        for given in patched(patch):
            template = put_in(template, given)
    spec = indexed(trainer["numNodes"], template, **{INDEX: "0"})
    return [(f"{parent['metadata']['name']}-node-0", {"spec": spec})]


def status(parent: Object, jobs: list[Object]) -> Object:
    """Return how a TrainJob stands, as its Job does."""
    del parent
    done = any(has_condition(job, "Complete") for job in jobs)
    fields = {
        "name": "node",
        "active": int(count(jobs, "active") > 0),
        "ready": int(bool(jobs) and count(jobs, "ready") == pods_asked(jobs)),
        "succeeded": int(done),
        "failed": 0,
        "suspended": 0,
    }
    return {"jobsStatus": [fields], "conditions": [condition("Complete")] if done else []}


def is_active(obj: Object) -> bool:
    """Tell whether its nodes train."""
    return any(job_status["active"] for job_status in obj.get("status", {}).get("jobsStatus", ()))


ACTS = (
    Act(
        namespace="life-train",
        framework=f"{GROUP}/trainjob",
        path=f"/apis/{GROUP}/v1alpha1/namespaces/{{}}/trainjobs",
        make=train_job,
        templates=templates,
        finished=lambda obj: has_condition(obj, "Complete"),
        active=is_active,
        crd=TRAIN_JOB,
        also=(CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, runtime()),
        children=children,
        status=status,
        slow=True,
    ),
)
