"""AppWrappers and SparkApplications: what they say of their pods becomes Jobs here."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count, indexed, pods_asked, put_in
from tests.parts.definitions import APP_WRAPPER, SPARK_APPLICATION
from tests.parts.foreign import pods_template

Object = dict[str, Any]
QUEUE = "kueue.x-k8s.io/queue-name"
SECONDS = "simulate/seconds"
PODS = 2
ROLES = ("driver", "executor")


def app_wrapper(name: str, queue: str, seconds: float) -> Object:
    """Return an AppWrapper of a Job of two pods, which names the queue as well."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{name}-inner", "labels": {QUEUE: queue}},
        "spec": {"parallelism": PODS, "completions": PODS, "template": pods_template("1", seconds)},
    }
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": name, "labels": {QUEUE: queue}},
        "spec": {"components": [{"template": job}]},
    }


def infos(obj: Object) -> list[Object]:
    """Return what an AppWrapper was given, as templates."""
    return [
        _template(info, info)
        for component in obj["spec"]["components"]
        for info in component["podSetInfos"]
    ]


def wrapped(parent: Object) -> list[tuple[str, Object]]:
    """Return the Job of an AppWrapper that may run, with what was given put in."""
    if parent["spec"].get("suspend"):
        return []
    job = parent["spec"]["components"][0]["template"]
    template = put_in(job["spec"]["template"], infos(parent)[0])
    made = {"metadata": job["metadata"], "spec": {**job["spec"], "template": template}}
    return [(job["metadata"]["name"], made)]


def wrapper_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of an AppWrapper, as its Job stands."""
    if any(has_condition(job, "Complete") for job in jobs):
        return {"phase": "Succeeded", "conditions": [condition("ResourcesDeployed")]}
    if not jobs:
        text = "Suspended" if parent["spec"].get("suspend") else "Resuming"
        return {"phase": text, "conditions": []}
    ready = [condition("PodsReady")] if count(jobs, "ready") == pods_asked(jobs) else []
    return {"phase": "Running", "conditions": [condition("QuotaReserved"), *ready]}


def spark(name: str, queue: str, seconds: float) -> Object:
    """Return a SparkApplication of a driver and an executor of one core each."""
    role = {"coreRequest": "1", "annotations": {SECONDS: str(seconds)}}
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name, "labels": {QUEUE: queue}},
        "spec": {
            "type": "Python",
            "mode": "cluster",
            "sparkVersion": "4.0.0",
            "driver": role,
            "executor": {**role, "instances": 1},
        },
    }


def roles(obj: Object) -> list[Object]:
    """Return what the roles of a SparkApplication were given, as templates."""
    return [_template(role, role.get("template", {}).get("spec", {})) for role in _roles(obj)]


def submitted(parent: Object) -> list[tuple[str, Object]]:
    """Return a Job for each role of a SparkApplication that may run."""
    if parent["spec"].get("suspend"):
        return []
    name = parent["metadata"]["name"]
    given = zip(ROLES, _roles(parent), roles(parent), strict=True)
    return [
        (
            f"{name}-{role}",
            {
                "spec": indexed(
                    fields.get("instances", 1),
                    put_in(pods_template(fields["coreRequest"]), document),
                )
            },
        )
        for role, fields, document in given
    ]


def spark_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a SparkApplication, as its Jobs stand."""
    if len(jobs) == len(ROLES) and all(has_condition(job, "Complete") for job in jobs):
        return {"applicationState": {"state": "COMPLETED"}}
    if not jobs:
        text = "SUSPENDED" if parent["spec"].get("suspend") else "NEW"
        return {"applicationState": {"state": text}}
    there = len(jobs) == len(ROLES) and count(jobs, "ready") == pods_asked(jobs)
    up = "RUNNING" if there else "PENDING"
    return {"applicationState": {"state": "RUNNING"}, "executorState": {"one": up}}


def _roles(obj: Object) -> list[Object]:
    return [obj["spec"][role] for role in ROLES]


def _template(fields: Object, gated: Object) -> Object:
    """Return fields that say what pods are like as a template, with the gates of another place."""
    meta = {name: fields.get(name, {}) for name in ("labels", "annotations")}
    spec = {name: fields[name] for name in ("nodeSelector", "tolerations") if name in fields}
    return {"metadata": meta, "spec": spec | {"schedulingGates": gated.get("schedulingGates", [])}}


ACTS = (
    Act(
        namespace="life-appwrapper",
        framework="workload.codeflare.dev/appwrapper",
        path="/apis/workload.codeflare.dev/v1beta2/namespaces/{}/appwrappers",
        make=app_wrapper,
        templates=infos,
        finished=lambda obj: obj.get("status", {}).get("phase") == "Succeeded",
        active=lambda obj: has_condition(obj, "PodsReady"),
        crd=APP_WRAPPER,
        children=wrapped,
        status=wrapper_status,
        slow=True,
    ),
    Act(
        namespace="life-spark",
        framework="sparkoperator.k8s.io/sparkapplication",
        gates=("SparkApplicationIntegration",),
        path="/apis/sparkoperator.k8s.io/v1beta2/namespaces/{}/sparkapplications",
        make=spark,
        templates=roles,
        finished=lambda obj: (
            obj.get("status", {}).get("applicationState", {}).get("state") == "COMPLETED"
        ),
        active=lambda obj: "RUNNING" in obj.get("status", {}).get("executorState", {}).values(),
        crd=SPARK_APPLICATION,
        children=submitted,
        status=spark_status,
        slow=True,
    ),
)
