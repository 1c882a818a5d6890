"""The objects of the load, with all that an API server and its controllers write on a Job."""

from __future__ import annotations

from typing import Any

from bench.cluster.objects import KUEUE, pod
from tidegate.kinds.names import AUTHOR, PARTITION

Object = dict[str, Any]
NAMESPACE = "bench"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
WORKLOADS = f"/apis/{KUEUE}/namespaces/{NAMESPACE}/workloads"
_TIME = "2026-01-01T00:00:00Z"


def definitions(queues: int, partitions: int = 1) -> list[tuple[str, Object]]:
    """Return namespace, flavor and queues with quota for everything, each with its path.

    The cohorts are spread evenly over so many partitions.
    """
    quota = {"name": "cpu", "nominalQuota": "1000000"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    kueue = f"/apis/{KUEUE}"
    results: list[tuple[str, Object]] = [
        ("/api/v1/namespaces/kube-system", _object("v1", "Namespace", "kube-system")),
        (f"/api/v1/namespaces/{NAMESPACE}", _object("v1", "Namespace", NAMESPACE)),
        (f"{kueue}/resourceflavors/any", _object(KUEUE, "ResourceFlavor", "any", spec={})),
    ]
    for index in range(queues):
        spec = {
            "namespaceSelector": {},
            "cohortName": f"cohort-{index // 6}",
            "resourceGroups": [group],
        }
        name, local = f"queue-{index}", {"clusterQueue": f"queue-{index}"}
        queue = _object(KUEUE, "ClusterQueue", name, spec=spec)
        if number := index // 6 % partitions:
            queue["metadata"]["annotations"] = {PARTITION: str(number)}
        leads = _object(KUEUE, "LocalQueue", f"lq-{index}", spec=local)
        results.append((f"{kueue}/clusterqueues/{name}", queue))
        results.append((f"{kueue}/namespaces/{NAMESPACE}/localqueues/lq-{index}", leads))
    return results


def job(name: str, queue: int) -> Object:
    """Return a suspended Job as a watch shows it: defaults filled in, fields' managers listed."""
    labels = {"kueue.x-k8s.io/queue-name": f"lq-{queue}"}
    fields: Object = {
        "f:spec": {f"f:{literal}": {} for literal in ("parallelism", "suspend", "template")}
    }
    manager = {
        "manager": "kubectl-create",
        "operation": "Update",
        "apiVersion": "batch/v1",
        "time": _TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:queue-name": {}}}, **fields},
    }
    obj = _object("batch/v1", "Job", name)
    obj["metadata"] |= {"labels": labels, "generation": 1, "managedFields": [manager] * 3}
    obj["spec"] = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": True,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": name}},
        "template": {"metadata": {"labels": {"job-name": name}}, "spec": _pod()},
    }
    obj["status"] = {"conditions": [_condition("Suspended", "JobSuspended")]}
    return obj


def workload(name: str, queue: int) -> Object:
    """Return a Workload that no Job stands behind, as a watch shows it."""
    fields: Object = {"f:spec": {f"f:{literal}": {} for literal in ("podSets", "queueName")}}
    manager = {
        "manager": "kubectl-create",
        "operation": "Update",
        "apiVersion": KUEUE,
        "time": _TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    podset = {"name": "main", "count": 1, "template": {"metadata": {}, "spec": pod("1")}}
    spec = {"active": True, "queueName": f"lq-{queue}", "priority": 50, "podSets": [podset]}
    obj = _object(KUEUE, "Workload", name, spec=spec)
    marks = {AUTHOR: "bench"}  # as the admission policy sets it
    obj["metadata"] |= {"generation": 1, "annotations": marks, "managedFields": [manager]}
    return obj


def running(ready: int) -> Object:
    """Return the status of a Job whose pod is there."""
    resumed = {**_condition("Suspended", "JobResumed"), "status": "False"}
    return {"conditions": [resumed], "startTime": _TIME, "active": 1, "ready": ready}


def counted() -> Object:
    """Return the status of a Job whose pod has ended and is being counted."""
    uncounted = {"uncountedTerminatedPods": {"succeeded": ["pod"]}}
    met = _condition("SuccessCriteriaMet", "CompletionsReached")
    return {**running(0), "active": 0, **uncounted, "conditions": [met]}


def complete() -> Object:
    """Return the status of a Job that has succeeded."""
    ends = [_condition(kind, "CompletionsReached") for kind in ("SuccessCriteriaMet", "Complete")]
    return {"conditions": ends, "startTime": _TIME, "completionTime": _TIME, "succeeded": 1}


def finished(status: Object) -> Object:
    """Return the status of a Workload whose work has ended."""
    return {**status, "conditions": [*status["conditions"], _condition("Finished", "Succeeded")]}


def _condition(kind: str, reason: str) -> Object:
    return {
        "type": kind,
        "status": "True",
        "lastProbeTime": _TIME,
        "lastTransitionTime": _TIME,
        "reason": reason,
        "message": reason,
    }


def _object(version: str, kind: str, name: str, **rest: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}


def _pod() -> Object:
    container = {
        "name": "main",
        "image": "registry.example.com/team/train:1.4.2",
        "command": ["python", "-m", "train", "--epochs", "10"],
        "env": [{"name": f"SETTING_{index}", "value": "value"} for index in range(8)],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "100m"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    return {
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
