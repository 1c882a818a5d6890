"""The shape of Flux's MiniCluster: parts of a pod instead of a template."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count
from tests.parts.foreign import MINICLUSTERS, declarations, foreign_crd, minicluster

Object = dict[str, Any]


def minicluster_children(parent: Object) -> list[tuple[str, Object]]:
    """Return the indexed Job of a MiniCluster that is not suspended."""
    spec = parent["spec"]
    if spec.get("suspend"):
        return []
    pod = spec.get("pod", {})
    meta = {field: pod[field] for field in ("labels", "annotations") if field in pod}
    pods = {"containers": spec["containers"], "nodeSelector": pod.get("nodeSelector", {})}
    template = {"metadata": meta, "spec": {"restartPolicy": "Never", **pods}}
    size = {"parallelism": spec["size"], "completions": spec["size"]}
    made = {"spec": {**size, "completionMode": "Indexed", "template": template}}
    return [(parent["metadata"]["name"], made)]


def minicluster_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the conditions of a MiniCluster."""
    done = any(has_condition(job, "Complete") for job in jobs)
    documents = [condition("JobRunning")] if count(jobs, "active") else []
    documents += [condition("JobFinished")] if done else []
    return {**parent.get("status", {}), "conditions": documents}


ACTS = (
    Act(
        namespace="life-minicluster",
        framework="",
        declared=declarations()["minicluster"],
        path=MINICLUSTERS,
        make=lambda name, queue, seconds: minicluster(name, queue, seconds=seconds),
        templates=lambda obj: [{"metadata": obj["spec"]["pod"], "spec": obj["spec"]["pod"]}],
        finished=lambda obj: has_condition(obj, "JobFinished"),
        active=lambda obj: has_condition(obj, "JobRunning"),
        crd=foreign_crd("minicluster"),
        children=minicluster_children,
        status=minicluster_status,
        slow=True,
        tolerates=False,
    ),
)
