"""Kubeflow's jobs: here each pod of a role is a Job's, and bears its number."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count, put_in
from tests.parts.foreign import kubeflow_crd, pods_template

Object = dict[str, Any]
MASTERS = ("Master", "Worker")
KINDS = {
    "PyTorchJob": ("v1", "pytorchReplicaSpecs", MASTERS),
    "TFJob": ("v1", "tfReplicaSpecs", ("PS", "Worker")),
    "XGBoostJob": ("v1", "xgbReplicaSpecs", MASTERS),
    "PaddleJob": ("v1", "paddleReplicaSpecs", MASTERS),
    "JAXJob": ("v1", "jaxReplicaSpecs", ("Worker",)),
    "MPIJob": ("v2beta1", "mpiReplicaSpecs", ("Launcher", "Worker")),
}
"""Version, field of the roles, and the roles that a test's job has, together of two pods."""
INDEX = "training.kubeflow.org/replica-index"


def made(kind: str, name: str, queue: str, seconds: float) -> Object:
    """Return a job of two pods."""
    version, field, roles = KINDS[kind]
    replicas = {"replicas": 2 // len(roles), "template": pods_template("1", seconds)}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {field: dict.fromkeys(roles, replicas)},
    }


def children(kind: str, parent: Object) -> list[tuple[str, Object]]:
    """Return a Job for each pod of each role of a job that may run."""
    spec, name = parent["spec"], parent["metadata"]["name"]
    if spec.get("runPolicy", {}).get("suspend"):
        return []
    return [
        (f"{name}-{role.lower()}-{index}", {"spec": {"template": _numbered(value, index)}})
        for role, value in spec[KINDS[kind][1]].items()
        for index in range(value["replicas"])
    ]


def _numbered(role: Object, index: int) -> Object:
    return put_in(role["template"], {"metadata": {"labels": {INDEX: str(index)}}})


def status(kind: str, parent: Object, jobs: list[Object]) -> Object:
    """Return how a job stands, as its Jobs do."""
    name, (_, field, roles) = parent["metadata"]["name"], KINDS[kind]
    pods = sum(replica_spec["replicas"] for replica_spec in parent["spec"][field].values())
    fields: Object = {
        "replicaStatuses": {
            role: {"active": count(_of(jobs, f"{name}-{role.lower()}-"), "active")}
            for role in roles
        }
    }
    kinds = ["Running"] if count(jobs, "ready") == pods else []
    done = len(jobs) == pods and all(has_condition(job, "Complete") for job in jobs)
    return fields | {"conditions": [condition(kind) for kind in (["Succeeded"] if done else kinds)]}


def _of(jobs: list[Object], prefix: str) -> list[Object]:
    return [job for job in jobs if job["metadata"]["name"].startswith(prefix)]


def templates(kind: str, obj: Object) -> list[Object]:
    """Return the pod template of each role."""
    _, field, roles = KINDS[kind]
    return [obj["spec"][field][role]["template"] for role in roles]


def active(kind: str, obj: Object) -> bool:
    """Tell whether all roles run."""
    statuses = obj.get("status", {}).get("replicaStatuses", {})
    return all(statuses.get(role, {}).get("active") for role in KINDS[kind][2])


ACTS = tuple(
    Act(
        namespace=f"life-{kind.lower().removesuffix('job')}",
        framework=f"kubeflow.org/{kind.lower()}",
        path=f"/apis/kubeflow.org/{version}/namespaces/{{}}/{kind.lower()}s",
        make=partial(made, kind),
        templates=partial(templates, kind),
        finished=lambda obj: has_condition(obj, "Succeeded"),
        active=partial(active, kind),
        suspend="spec.runPolicy.suspend",
        crd=kubeflow_crd(kind, version, field),
        children=partial(children, kind),
        status=partial(status, kind),
        slow=True,
    )
    for kind, (version, field, _) in KINDS.items()
)
