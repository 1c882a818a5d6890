"""TrainJobs: here the nodes of a training are a Job's pods."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count
from tests.parts.definitions import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME
from tests.parts.foreign import pods_template

Object = dict[str, Any]
GROUP = "trainer.kubeflow.org"
RUNTIME = "plain"
SECONDS = "simulate/seconds"
NODES = 2
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


def templates(found: Object) -> list[Object]:
    """Return what the patch of the runtime gives to the nodes' pods."""
    (patch,) = found["spec"]["runtimePatches"]
    jobs = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    return [one["template"]["spec"]["template"] for one in jobs]


def children(parent: Object) -> list[tuple[str, Object]]:
    """Return the Job of a TrainJob that may run, with what was given put in."""
    if parent["spec"].get("suspend"):
        return []
    (given,) = templates(parent)
    seconds = float(parent["metadata"]["annotations"][SECONDS])
    own = pods_template("1", seconds)
    template = {
        "metadata": {**own["metadata"], "labels": given["metadata"]["labels"]},
        "spec": {**own["spec"], **given["spec"]},
    }
    size = {"parallelism": NODES, "completions": NODES}
    return [(f"{parent['metadata']['name']}-node", {"spec": {**size, "template": template}})]


def status(parent: Object, jobs: list[Object]) -> Object:
    """Return how a TrainJob stands, as its Job does."""
    del parent
    done = any(has_condition(one, "Complete") for one in jobs)
    told = {
        "name": "node",
        "active": int(count(jobs, "active") > 0),
        "ready": int(count(jobs, "ready") == NODES),
        "succeeded": int(done),
        "failed": 0,
        "suspended": 0,
    }
    return {"jobsStatus": [told], "conditions": [condition("Complete")] if done else []}


def is_active(found: Object) -> bool:
    """Tell whether its nodes train."""
    return any(one["active"] for one in found.get("status", {}).get("jobsStatus", ()))


ACTS = (
    Act(
        namespace="life-train",
        framework=f"{GROUP}/trainjob",
        path=f"/apis/{GROUP}/v1alpha1/namespaces/{{}}/trainjobs",
        make=train_job,
        templates=templates,
        finished=lambda found: has_condition(found, "Complete"),
        active=is_active,
        crd=TRAIN_JOB,
        also=(CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, runtime()),
        children=children,
        status=status,
        slow=True,
    ),
)
